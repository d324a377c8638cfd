/** Reads members of the body of a request. */
import { bodyErrors } from '../errors/body.js';

/** Reads an optional text member of a body. */
export function textOf(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw bodyErrors.notText(name, JSON.stringify(value).slice(0, 60));
}

/** Reads a text member of a body as base64; white space in it does not matter. */
export function bytesOf(body: Record<string, unknown>, name: string): Buffer {
  const compact = textOf(body, name).replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) throw bodyErrors.notBase64(name);
  return Buffer.from(compact, 'base64');
}

/** Reads an optional list of texts of a body. */
export function textsOf(body: Record<string, unknown>, name: string): string[] {
  const value = body[name];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw bodyErrors.notTexts(name);
}

/** Reads a text as a JSON object; `what` names it in errors. */
export function objectOf(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bodyErrors.textNotJson(what, error instanceof Error ? error.message : '', {
      cause: error,
    });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw bodyErrors.textNotObject(what);
}

/** Checks that a body names the same resource as the path; a body without a name takes the one of the path. */
export function checkSameName(given: string, expected: string, field = 'name'): void {
  if (given !== '' && given !== expected) {
    throw bodyErrors.otherName(field, given, expected);
  }
}
