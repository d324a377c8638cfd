/** Texts of properties that may be templates over the last token or over states: made ready once. */
import { compileTemplate } from '../template/compile.js';
import type { Dict } from '../template/value.js';

/** Data that templates are rendered with. */
export type Values = Dict;

type TextTemplate = (data: Values) => string;

/** Throws a `plan` error for a template that is not right. */
export function textTemplate(text: string): TextTemplate {
  return text.includes('{{') ? compileTemplate(text).renderValue : () => text;
}

/** Compiles the values of all headers as templates; the function returns the rendered headers. */
export function headerTemplates(headers: Readonly<Record<string, unknown>>): (data: Values) => Record<string, string> {
  const templates = Object.entries(headers).map(([name, value]) => [name, textTemplate(String(value ?? ''))] as const);
  return (data) => Object.fromEntries(templates.map(([name, render]) => [name, render(data)]));
}
