/** Files and texts that were sent together, such as from a form of a browser. */

export interface FormFile {
  /** Name of the file at the sender, without folders. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Parts of a form by the names of their fields; of several with one name the first. */
export interface Form {
  file(field: string): FormFile | undefined;
  text(field: string): string | undefined;
  /** How many parts, files and texts, have the name. */
  count(field: string): number;
}
