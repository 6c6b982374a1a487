// Reads server-sent events out of an answer's body, each as it is complete.
const read = (block) => {
  const fields = { event: "message", data: [] };
  for (const line of block.split("\n")) {
    const [, name, value] = /^(event|data): ?(.*)$/.exec(line) ?? [];
    if (name === "event") fields.event = value;
    if (name === "data") fields.data.push(value);
  }
  return { event: fields.event, data: fields.data.join("\n") };
};

export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = read(block);
      if (event.data) yield event;
    }
  }
}
