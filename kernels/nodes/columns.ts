/** A bound that all nodes of joins have. */
const maxColumns = 1200;

/** Throws RangeError for more columns than the kernel has room for. */
export function checkColumns(columns: number): void {
  if (columns > maxColumns) throw new RangeError(`a join has at most ${maxColumns} columns, not ${columns}`);
}
