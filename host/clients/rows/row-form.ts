/** Form of the output that a sink of rows takes (row-sink.ts); manifests name it, so it stands alone. */
export const rowForm = { takes: 'rows', framing: 'messages', isRowByRow: true, picksFields: true } as const;
