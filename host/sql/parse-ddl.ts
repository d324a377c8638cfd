/**
 * Statements about streams and tables: CREATE, SHOW, DESCRIBE, EXPLAIN, DROP. Option names and values are taken as
 * written; `source-def.ts` checks them.
 */
import type { CreateSource, Expr, FieldDef, FieldType, Statement } from './ast.js';
import type { Cursor } from './cursor.js';
import { parseExpr } from './parse-expression.js';

type SimpleType = Exclude<FieldType['type'], 'array' | 'struct'>;

/** Column types by upper-case name; the first name of each type is the one printed. */
const simpleTypes: ReadonlyMap<string, SimpleType> = new Map([
  ...named('bigint', 'BIGINT', 'INT', 'INTEGER', 'SMALLINT', 'TINYINT', 'LONG'),
  ...named('float', 'FLOAT', 'DOUBLE', 'REAL', 'DECIMAL', 'NUMERIC'),
  ...named('string', 'STRING', 'TEXT', 'VARCHAR', 'CHAR'),
  ...named('datetime', 'DATETIME', 'TIMESTAMP'),
  ...named('boolean', 'BOOLEAN', 'BOOL'),
  ...named('bytea', 'BYTEA', 'BYTES', 'BLOB', 'BINARY', 'VARBINARY'),
]);

function named(type: SimpleType, ...names: string[]): [string, SimpleType][] {
  return names.map((name) => [name, type]);
}

/** Reads one statement other than SELECT. */
export function parseSourceStatement(cursor: Cursor): Statement {
  if (cursor.atWord('CREATE')) return parseCreateBody(cursor);
  if (cursor.acceptWord('SHOW')) {
    if (cursor.acceptWord('STREAMS')) return { kind: 'show', target: 'streams' };
    cursor.expectWord('TABLES', 'STREAMS or TABLES');
    return { kind: 'show', target: 'tables' };
  }
  for (const kind of ['describe', 'explain', 'drop'] as const) {
    if (!cursor.acceptWord(kind.toUpperCase())) continue;
    const target = parseTarget(cursor);
    return { kind, target, name: cursor.expectName(`the name of a ${target}`) };
  }
  throw cursor.unexpected('SELECT, CREATE, SHOW, DESCRIBE, EXPLAIN or DROP');
}

function parseTarget(cursor: Cursor): 'stream' | 'table' {
  if (cursor.acceptWord('STREAM')) return 'stream';
  cursor.expectWord('TABLE', 'STREAM or TABLE');
  return 'table';
}

/** Reads `CREATE STREAM|TABLE name [(columns)] WITH (options)`. */
export function parseCreateBody(cursor: Cursor): CreateSource {
  cursor.expectWord('CREATE');
  const target = parseTarget(cursor);
  const name = cursor.expectName(`the name of the ${target}`);
  const fields = cursor.atSymbol('(') ? parseFields(cursor) : null;
  cursor.expectWord('WITH', fields === null ? '"(" and the columns, or WITH' : 'WITH and the options');
  return { kind: 'create', target, name, fields, options: parseOptions(cursor) };
}

/** Reads columns in parentheses, as many as there are; a comma may follow the last. */
function parseFields(cursor: Cursor): FieldDef[] {
  cursor.expectSymbol('(', '"(" and the columns');
  const fields: FieldDef[] = [];
  while (!cursor.atSymbol(')')) {
    cursor.roomForField();
    fields.push(parseField(cursor));
    if (!cursor.acceptSymbol(',')) break;
  }
  cursor.expectSymbol(')', '"," or ")" after a column');
  return fields;
}

function parseField(cursor: Cursor): FieldDef {
  const name = cursor.expectName('a column name');
  const fieldType = parseFieldType(cursor);
  return { name, fieldType, default: cursor.acceptWord('DEFAULT') ? parseDefault(cursor) : null };
}

function parseDefault(cursor: Cursor): Expr {
  const first = cursor.token;
  const value = parseExpr(cursor);
  if (value.kind !== 'integer' && value.kind !== 'number' && value.kind !== 'string' && value.kind !== 'boolean') {
    throw cursor.errorAt(first, 'the value after DEFAULT must be a number, a string, TRUE or FALSE');
  }
  return value;
}

function parseFieldType(cursor: Cursor): FieldType {
  const { token } = cursor;
  const simple = token.kind === 'word' ? simpleTypes.get(token.upper) : undefined;
  if (simple !== undefined) {
    cursor.advance();
    if (token.upper === 'DOUBLE') cursor.acceptWord('PRECISION');
    skipTypeLength(cursor);
    return { type: simple };
  }
  if (cursor.acceptWord('ARRAY')) {
    cursor.expectSymbol('(', '"(" and the type of the elements');
    const element = cursor.nested(() => parseFieldType(cursor));
    cursor.expectSymbol(')', '")" after the type of the elements');
    return { type: 'array', element };
  }
  if (cursor.acceptWord('STRUCT')) return { type: 'struct', fields: cursor.nested(() => parseFields(cursor)) };
  const known = 'a column type (BIGINT, FLOAT, STRING, DATETIME, BOOLEAN, BYTEA, ARRAY or STRUCT)';
  throw cursor.unexpected(known, simpleTypes.keys());
}

/** Skips the `(20)` of `VARCHAR(20)` and the `(10, 2)` of `DECIMAL(10, 2)`: values are not cut to a length. */
function skipTypeLength(cursor: Cursor): void {
  if (!cursor.acceptSymbol('(')) return;
  do {
    if (cursor.token.kind !== 'integer') throw cursor.unexpected('a whole number as length of the type');
    cursor.advance();
  } while (cursor.acceptSymbol(','));
  cursor.expectSymbol(')');
}

function parseOptions(cursor: Cursor): Record<string, string> {
  cursor.expectSymbol('(', '"(" and the options');
  const options: Record<string, string> = {};
  while (!cursor.atSymbol(')')) {
    if (cursor.acceptSymbol(',')) continue;
    const { token } = cursor;
    if (token.kind !== 'word') throw cursor.unexpected('the name of an option');
    const name = token.upper === '' ? token.text : token.upper;
    if (Object.hasOwn(options, name)) throw cursor.errorAt(token, `the option ${name} is given twice`);
    cursor.advance();
    cursor.expectSymbol('=', `"=" after the option ${name}`);
    options[name] = parseOptionValue(cursor, name);
  }
  cursor.expectSymbol(')');
  return options;
}

function parseOptionValue(cursor: Cursor, name: string): string {
  const { token } = cursor;
  const isValue =
    token.kind === 'string' || token.kind === 'integer' || cursor.atWord('TRUE') || cursor.atWord('FALSE');
  if (!isValue) throw cursor.unexpected(`a string, a whole number, TRUE or FALSE as value of ${name}`);
  return cursor.advance().text;
}
