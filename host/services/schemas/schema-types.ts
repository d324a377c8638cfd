/** The types of schemas. */
import { schemaErrors } from '../errors/schemas.js';

/** Types of schemas and the endings of their files. */
export const extensions: Readonly<Record<string, string>> = { protobuf: '.proto', custom: '', avro: '.avsc' };

/** Throws when there is no such type. */
export function checkType(type: string): void {
  if (Object.hasOwn(extensions, type)) return;
  const known = Object.keys(extensions).join(', ');
  throw schemaErrors.unknownType(type, known);
}
