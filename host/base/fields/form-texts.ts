/**
 * Texts of forms in a language other than English, by what they belong to: a changed sentence leaves its translation in
 * place.
 */

/**
 * Caption and explanation of properties, by name, within objects by path (`will.topic`); what is missing is shown in
 * English.
 */
export type FieldTexts = Readonly<Record<string, readonly [label: string, hint: string]>>;

export interface FormTexts {
  /** Translated name of what the form is for; left out for proper names. */
  readonly name?: string;
  readonly about: string;
  readonly props: FieldTexts;
}
