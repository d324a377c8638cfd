/** Values of properties that are templates over rows: `devices/{{.id}}`. */

/** Tells whether a value is or holds one. */
export function isRowTemplate(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes('{{');
}

/** The text of a template with an `x` in the place of each action. */
export function literalOf(template: string): string {
  return template.replace(/\{\{.*?\}\}/gs, 'x');
}
