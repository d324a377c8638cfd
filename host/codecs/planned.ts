/**
 * Formats that eKuiper has and this engine can't read or write yet: statements and actions may name them, a rule that
 * needs one is refused by its name. A format leaves this list with its folder.
 */
export interface PlannedFormat {
  /** Options of the statement that belong to it. */
  readonly options?: readonly string[];
  /** SCHEMAID names a message of a schema of this type, which says what the columns are. */
  readonly schemaType?: string;
}

export const plannedFormats: Readonly<Record<string, PlannedFormat>> = {
  protobuf: { options: ['SCHEMAID'], schemaType: 'protobuf' },
};
