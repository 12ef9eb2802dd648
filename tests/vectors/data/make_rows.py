"""Writes rows.parquet: two groups of rows, packed with zstd, with a missing text. Needs pyarrow (26.0.1)."""

import pyarrow as pa
import pyarrow.parquet as pq

texts = ["the first row", "row two, in zstd", None, "日本語の行"]
titles = ["one", None, "two", None]
table = pa.table({
    "id": [0, 1, 2, 3],
    "text": texts,
    "meta": [{"title": title, "length": len(text or "")} for title, text in zip(titles, texts)],
})
pq.write_table(table, "rows.parquet", compression="zstd", row_group_size=2)
