// Checks a JSON schema before it is sent, and an answer against it, each fault with its field.
const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const typeOf = (value) => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
};
const list = (value) => [value].flat();
const fits = (value, type) => type === typeOf(value) || (type === "number" && typeof value === "number");

export const faultsOfSchema = (schema, at = "schema") => {
  if (typeof schema === "boolean") return [];
  if (!isObject(schema)) return [`${at} is no object`];
  const faults = list(schema.type ?? []).filter((type) => !TYPES.includes(type))
    .map((type) => `${at}.type is ${JSON.stringify(type)}; a type is one of ${TYPES.join(", ")}`);
  if (schema.properties !== undefined && !isObject(schema.properties)) faults.push(`${at}.properties is no object`);
  if (schema.required !== undefined && !Array.isArray(schema.required)) faults.push(`${at}.required is no list of names`);
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) faults.push(`${at}.enum is no list`);
  for (const [name, inner] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    faults.push(...faultsOfSchema(inner, `${at}.properties.${name}`));
  }
  if (schema.items !== undefined) faults.push(...faultsOfSchema(schema.items, `${at}.items`));
  return faults;
};

export const faultsOfValue = (value, schema, at = "answer") => {
  if (!isObject(schema)) return [];
  const types = list(schema.type ?? []);
  if (types.length && !types.some((type) => fits(value, type))) {
    return [`${at} is of type ${typeOf(value)}, not ${types.join(" or ")}`];
  }
  if (schema.enum && !schema.enum.some((each) => JSON.stringify(each) === JSON.stringify(value))) {
    return [`${at} is ${JSON.stringify(value)}, not one of ${JSON.stringify(schema.enum)}`];
  }
  if (Array.isArray(value)) return value.flatMap((each, index) => faultsOfValue(each, schema.items, `${at}[${index}]`));
  if (!isObject(value)) return [];
  const known = schema.properties ?? {};
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`);
  const foreign = schema.additionalProperties === false
    ? Object.keys(value).filter((name) => !Object.hasOwn(known, name)).map((name) => `${at}.${name} is not in the schema`) : [];
  const inner = Object.entries(known).filter(([name]) => Object.hasOwn(value, name))
    .flatMap(([name, rule]) => faultsOfValue(value[name], rule, `${at}.${name}`));
  return [...missing, ...foreign, ...inner];
};
