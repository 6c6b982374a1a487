from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """What one process stores and another reads, told to REST by the sentences of its fields.

    Fields that an older release did not write have defaults; those of a newer one are ignored.
    """

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)
