/**
 * Queries that users write as templates. Values stand where a comparison has them: these become parameters. A value in
 * another place is written into the text, if no letter of it can change what the text means.
 */
import type { Dialect } from '../../clients/sql/dialect.js';
import type { SqlParam } from '../../clients/sql/driver.js';
import { textTemplate, type Values } from '../../http/text-template.js';
import { sqlErrors } from './errors.js';

export interface Query {
  readonly text: string;
  readonly params: readonly SqlParam[];
}

const action = /'\{\{-?\s*\.(\w+)\s*-?\}\}'|\{\{-?\s*\.(\w+)\s*-?\}\}/g;
/** What a value that is compared or calculated with stands behind. */
const beforeValue = /(?:[=<>+\-*/%(,|]|\b(?:and|or|not|between|like|ilike|in|when|then|else|limit|offset))\s*$/i;
/** Within quotes; a backslash may escape the quote. */
const harmlessQuoted = /^[\w.:+\- ]*$/;
/** Outside of quotes: one word, number or time. Several words could be a statement, and `--` a comment. */
const harmless = /^(?!.*--)[\w.:+-]*(?: \d[\d:.+-]*)?$/;

type Part = { readonly text: string } | { readonly name: string; readonly isQuoted: boolean };

export class TemplateQuery {
  /** Names of the values that stand in the template by themselves. */
  readonly names: readonly string[];
  readonly #parts: readonly Part[];

  constructor(
    readonly template: string,
    readonly dialect: Dialect,
  ) {
    // Other statements open files of any path.
    if (dialect.kind === 'sqlite' && !/^\s*(SELECT|WITH|VALUES)\b/i.test(template)) throw sqlErrors.noQuery();
    const parts: Part[] = [];
    const names = new Set<string>();
    let text = '';
    let from = 0;
    for (const match of template.matchAll(action)) {
      const [whole, quoted, bare] = match;
      text += template.slice(from, match.index);
      from = match.index + whole.length;
      names.add(quoted ?? String(bare));
      if (!beforeValue.test(text) || isWithinQuotes(template.slice(0, match.index))) {
        text += whole;
        continue;
      }
      parts.push({ text }, { name: quoted ?? String(bare), isQuoted: quoted !== undefined });
      text = '';
    }
    this.#parts = [...parts, { text: text + template.slice(from) }];
    this.names = [...names];
  }

  /** Fills the values in; throws for one that can't stand where the template has it. */
  with(values: ReadonlyMap<string, SqlParam>): Query {
    const params: SqlParam[] = [];
    const text = this.#parts.map((part) => {
      if ('text' in part) return part.text.includes('{{') ? written(part.text, values) : part.text;
      const value = values.get(part.name) ?? null;
      params.push(part.isQuoted && !(value instanceof Uint8Array) ? String(value ?? '') : bareValue(value));
      return this.dialect.place(params.length);
    });
    return { text: text.join(''), params };
  }
}

/** The texts of numbers are numbers outside of quotes. */
function bareValue(value: SqlParam): SqlParam {
  if (typeof value !== 'string' || !/^-?\d+(\.\d+)?$/.test(value)) return value;
  const number = Number(value);
  return value.includes('.') || Number.isSafeInteger(number) ? number : BigInt(value);
}

/** Whether what follows the text stands between quotes. */
function isWithinQuotes(text: string): boolean {
  return (text.replace(/\{\{.*?\}\}/gs, '').split("'").length - 1) % 2 === 1;
}

/** @param text whose begin stands outside of quotes */
function written(text: string, values: ReadonlyMap<string, SqlParam>): string {
  const data: Record<string, unknown> = {};
  const isQuoted = [...text.matchAll(/\{\{/g)].every(({ index }) => isWithinQuotes(text.slice(0, index)));
  const allowed = isQuoted ? harmlessQuoted : harmless;
  for (const [name, value] of values) {
    const shown = String(value);
    if (text.includes(name) && !allowed.test(shown)) throw sqlErrors.templateValue(name);
    data[name] = shown;
  }
  return textTemplate(text)(data as Values);
}
