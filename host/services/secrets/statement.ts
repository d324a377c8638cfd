/** Secrets in statements that create streams and tables: masked for clients, kept when one sends the mask back. */
import { maskText, maskWithin } from '../../base/fields/secret-fields.js';
import { unmask } from '../../base/secrets/unmask.js';
import { defaultType } from '../../connectors/index.js';
import type { CreateSource } from '../../sql/ast.js';
import { parseStatement } from '../../sql/parser.js';
import { print } from '../../sql/printer.js';
import { maskProps } from './props.js';

/** Returns the statement as clients see it, the same object when it holds no secrets. */
export function maskCreate(create: CreateSource): CreateSource {
  const options = Object.fromEntries(
    Object.entries(create.options).map(([name, value]) => [
      name,
      name === 'EXTRA' ? maskExtra(create, value) : maskWithin(value),
    ]),
  );
  const isSame = Object.entries(options).every(([name, value]) => value === create.options[name]);
  return isSame ? create : { ...create, options };
}

/** The text of a statement without its secrets. */
export function maskStatement(sql: string): string {
  try {
    const statement = parseStatement(sql);
    const shown = statement.kind === 'create' ? maskCreate(statement) : statement;
    return shown === statement ? sql : print(shown);
  } catch {
    return sql;
  }
}

/** The text of a statement with the secrets of the stored one in the place of their masks; throws as `unmask`. */
export function unmaskStatement(sql: string, create: CreateSource, stored: CreateSource | undefined): string {
  if (stored === undefined || !sql.includes(maskText)) return sql;
  const { EXTRA, ...others } = create.options;
  const { EXTRA: before, ...old } = stored.options;
  const options = unmask(others, old) as Record<string, string>;
  const [given, kept] = [propsIn(EXTRA), propsIn(before)];
  if (EXTRA !== undefined) {
    options.EXTRA = given === undefined || kept === undefined ? EXTRA : JSON.stringify(unmask(given, kept));
  }
  return print({ ...create, options });
}

function maskExtra({ target, options: { TYPE: type = defaultType(target) } }: CreateSource, extra: string): string {
  const props = propsIn(extra);
  if (props === undefined) return extra;
  const shown = JSON.stringify(maskProps('sources', type, props));
  return shown === JSON.stringify(props) ? extra : shown;
}

function propsIn(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
