/** The rows of a message, each with its text: numbers keep all their digits there. */
import { readExactJson, writeExactJson } from '../../base/text/exact-json.js';
import { sqlErrors } from './errors.js';

export type RowKind = 'insert' | 'update' | 'upsert' | 'delete';

export interface SqlRow {
  readonly kind: RowKind;
  /** JSON of the whole row. */
  readonly text: string;
  readonly members: Readonly<Record<string, unknown>>;
  /** Members that are written, in the order of the row. */
  readonly names: readonly string[];
}

export interface RowForm {
  fields: readonly string[] | undefined;
  rowkindField: string;
  keyField: string;
}

const kinds = new Set<unknown>(['insert', 'update', 'upsert', 'delete']);

/** Reads a message: a row or a list of rows. Throws for one that is neither; bad rows are left to `refused`. */
export function rowsOf(text: string, form: RowForm, refused: (row: string, reason: string) => void): SqlRow[] {
  const texts = text.trimStart().startsWith('[') ? itemsOf(text) : [text];
  return texts.flatMap((one) => {
    const members = objectOf(one);
    try {
      return rowOf(one, members, form);
    } catch (error) {
      refused(one, (error as Error).message);
      return [];
    }
  });
}

function rowOf(text: string, members: Readonly<Record<string, unknown>>, form: RowForm): SqlRow {
  const kind = kindOf(members, form.rowkindField);
  const { keyField } = form;
  const names = kind === 'delete' ? [keyField] : (form.fields ?? Object.keys(members));
  if (names.length === 0) throw sqlErrors.noMembers();
  if (kind !== 'insert' && (members[keyField] === undefined || members[keyField] === null)) {
    throw sqlErrors.noKey(keyField);
  }
  return { kind, text, members, names };
}

/** The kind of change; rows without one are inserted. */
function kindOf(members: Readonly<Record<string, unknown>>, name: string): RowKind {
  const kind = name === '' ? undefined : members[name];
  if (kind === undefined) return 'insert';
  if (kinds.has(kind)) return kind as RowKind;
  throw sqlErrors.kind(name, writeExactJson(kind));
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = readExactJson(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw sqlErrors.noObject();
  return value as Record<string, unknown>;
}

/** The texts of the items of a list. */
function itemsOf(text: string): string[] {
  const items: string[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[[\]{},]/g;
  token.lastIndex = text.indexOf('[') + 1;
  let from = token.lastIndex;
  let depth = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [sign] = match;
    if (sign === '[' || sign === '{') depth++;
    else if (depth === 0 && (sign === ',' || sign === ']')) {
      items.push(text.slice(from, match.index));
      from = token.lastIndex;
      if (sign === ']') return items.length === 1 && items[0]!.trim() === '' ? [] : items;
    } else if (sign === ']' || sign === '}') depth--;
  }
  throw sqlErrors.noObject();
}
