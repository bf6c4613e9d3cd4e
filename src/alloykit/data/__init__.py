"""Reading texts: a file, a folder, a hub data set or a Python list becomes one table.

Texts are kept exactly as they are written. Nothing is stripped; "00123", "NA" and "null" are texts. Rows
without a usable text are counted by reason, then dropped or refused. Repeated texts are kept.
"""

from alloykit.data.file_formats import FORMATS
from alloykit.data.load import columns_of, load_texts, texts_options
from alloykit.data.raw_tables import MissingColumn
from alloykit.data.table import Texts, text_id
from alloykit.data.texts_options import ColumnOptions, TextsOptions, TextsPlace, columns_beside, refuse_columns

__all__ = [
    "FORMATS",
    "ColumnOptions",
    "MissingColumn",
    "Texts",
    "TextsOptions",
    "TextsPlace",
    "columns_beside",
    "columns_of",
    "load_texts",
    "refuse_columns",
    "text_id",
    "texts_options",
]
