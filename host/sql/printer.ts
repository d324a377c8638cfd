/**
 * Prints syntax trees as SQL text such that parsing the text gives the same tree (apart from spans). Parentheses are
 * set only where the grammar needs them.
 */
import type {
  BinaryOp,
  CreateSource,
  Expr,
  FieldDef,
  FieldType,
  Join,
  Over,
  Query,
  Select,
  SelectItem,
  Statement,
  TableRef,
  WindowClause,
} from './ast.js';
import { reservedWords, softWords } from './keywords.js';
import { matchSyntax, type Printers } from './late-match.js';

const OR = 1;
const AND = 2;
const NOT = 3;
const COMPARISON = 4;
const ADDITIVE = 5;
const MULTIPLICATIVE = 6;
const UNARY = 7;
const ATTACHED = 8;
const PRIMARY = 9;

const binaryPower: Readonly<Record<BinaryOp, number>> = {
  OR,
  AND,
  '=': COMPARISON,
  '!=': COMPARISON,
  '<': COMPARISON,
  '<=': COMPARISON,
  '>': COMPARISON,
  '>=': COMPARISON,
  '+': ADDITIVE,
  '-': ADDITIVE,
  '|': ADDITIVE,
  '^': ADDITIVE,
  '*': MULTIPLICATIVE,
  '/': MULTIPLICATIVE,
  '%': MULTIPLICATIVE,
  '&': MULTIPLICATIVE,
};

/** Prints any statement. */
export function print(statement: Statement): string {
  switch (statement.kind) {
    case 'select':
    case 'union':
      return printQuery(statement);
    case 'create':
      return printCreate(statement);
    case 'show':
      return `SHOW ${statement.target.toUpperCase()}`;
    default:
      return `${statement.kind.toUpperCase()} ${statement.target.toUpperCase()} ${printName(statement.name)}`;
  }
}

/** Prints a name, in back-quotes unless it is a plain word without meaning in the language. */
function printName(name: string): string {
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !isKeyword(name.toUpperCase());
  return isPlain ? name : `\`${name.replaceAll('`', '``')}\``;
}

function isKeyword(upper: string): boolean {
  return reservedWords.has(upper) || softWords.has(upper) || upper.endsWith('WINDOW') || upper === 'DISTINCT';
}

/** Prints a string literal. */
function printString(value: string): string {
  return JSON.stringify(value);
}

/** Prints an expression. */
export function printExpr(expr: Expr): string {
  switch (expr.kind) {
    case 'null':
      return 'NULL';
    case 'boolean':
      return expr.value ? 'TRUE' : 'FALSE';
    case 'integer':
      return String(expr.value);
    case 'number':
      return printNumber(expr.value);
    case 'string':
      return printString(expr.value);
    case 'column':
      return expr.qualifier === null ? printName(expr.name) : `${printName(expr.qualifier)}.${printName(expr.name)}`;
    case 'star':
      return printStar(expr.qualifier, expr.except, expr.replace);
    case 'unary':
      return expr.op === 'NOT' ? `NOT ${operand(expr.operand, NOT)}` : `-${negated(expr.operand)}`;
    case 'binary': {
      const power = binaryPower[expr.op];
      return `${operand(expr.left, power)} ${expr.op} ${operand(expr.right, power + 1)}`;
    }
    case 'isNull':
      return `${operand(expr.operand, COMPARISON)} IS ${not(expr.negated)}NULL`;
    case 'between': {
      const bounds = `${operand(expr.low, ADDITIVE)} AND ${operand(expr.high, ADDITIVE)}`;
      return `${operand(expr.operand, COMPARISON)} ${not(expr.negated)}BETWEEN ${bounds}`;
    }
    // The set of IN is an operand without parentheses: with them it would read back as a list of one value.
    case 'in': {
      const values = expr.set === null ? `(${printList(expr.list ?? [])})` : operand(expr.set, UNARY);
      return `${operand(expr.operand, COMPARISON)} ${not(expr.negated)}IN ${values}`;
    }
    case 'like':
      return `${operand(expr.operand, COMPARISON)} ${not(expr.negated)}LIKE ${operand(expr.pattern, ADDITIVE)}`;
    case 'case':
      return printCase(expr);
    case 'member':
      return `${attachable(expr.object, expr.arrow)}${expr.arrow ? '->' : '.'}${printName(expr.name)}`;
    case 'index':
      return `${attachable(expr.object, true)}[${printExpr(expr.index)}]`;
    case 'slice': {
      const from = expr.from === null ? '' : printExpr(expr.from);
      return `${attachable(expr.object, true)}[${from}:${expr.to === null ? '' : printExpr(expr.to)}]`;
    }
    case 'array':
      return `[${printList(expr.items)}]`;
    case 'call': {
      const call = `${printName(expr.name)}(${printList(expr.args)})`;
      return call + printFilter(expr.filter) + printOver(expr.over);
    }
  }
}

function printList(items: readonly Expr[]): string {
  return items.map(printExpr).join(', ');
}

/** Prints a number so that it reads back as a number and not as an integer. */
function printNumber(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function not(isNegated: boolean): string {
  return isNegated ? 'NOT ' : '';
}

/** How strongly the outermost operator of an expression binds. */
function powerOf(expr: Expr): number {
  switch (expr.kind) {
    case 'binary':
      return binaryPower[expr.op];
    case 'unary':
      return expr.op === 'NOT' ? NOT : UNARY;
    case 'isNull':
    case 'between':
    case 'in':
    case 'like':
      return COMPARISON;
    case 'member':
    case 'index':
    case 'slice':
      return ATTACHED;
    default:
      return PRIMARY;
  }
}

function operand(expr: Expr, leastPower: number): string {
  const text = printExpr(expr);
  return powerOf(expr) < leastPower ? `(${text})` : text;
}

/** Prints the operand of a unary minus, which must not begin with a number: `-3` is a literal. */
function negated(expr: Expr): string {
  const text = operand(expr, UNARY);
  return /^[-.\d]/.test(text) ? `(${text})` : text;
}

/** Prints what a member or an index hangs on; `(a).b` is kept apart from the column `a.b`. */
function attachable(expr: Expr, isArrowOrIndex: boolean): string {
  const isNumber = expr.kind === 'integer' || expr.kind === 'number';
  const isBareColumn = expr.kind === 'column' && expr.qualifier === null;
  return isNumber || (isBareColumn && !isArrowOrIndex) ? `(${printExpr(expr)})` : operand(expr, ATTACHED);
}

function printCase(expr: Extract<Expr, { kind: 'case' }>): string {
  const head = expr.operand === null ? 'CASE' : `CASE ${printExpr(expr.operand)}`;
  const whens = expr.whens.map((branch) => ` WHEN ${printExpr(branch.when)} THEN ${printExpr(branch.then)}`).join('');
  return `${head}${whens}${expr.otherwise === null ? '' : ` ELSE ${printExpr(expr.otherwise)}`} END`;
}

function printStar(qualifier: string | null, except: readonly string[], replace: readonly SelectItem[]): string {
  let text = qualifier === null ? '*' : `${printName(qualifier)}.*`;
  if (except.length > 0) text += ` EXCEPT (${except.map(printName).join(', ')})`;
  if (replace.length > 0) text += ` REPLACE (${replace.map(printItem).join(', ')})`;
  return text;
}

function printItem({ expr, alias, invisible }: SelectItem): string {
  return `${printExpr(expr)}${printAlias(alias)}${invisible ? ' INVISIBLE' : ''}`;
}

function printAlias(alias: string | null): string {
  return alias === null ? '' : ` AS ${printName(alias)}`;
}

function printFilter(filter: Expr | null): string {
  return filter === null ? '' : ` FILTER (WHERE ${printExpr(filter)})`;
}

function printOver(over: Over | null): string {
  if (over === null) return '';
  const parts: string[] = [];
  if (over.partitionBy.length > 0) parts.push(`PARTITION BY ${printList(over.partitionBy)}`);
  if (over.orderBy.length > 0) parts.push(`ORDER BY ${printOrder(over.orderBy)}`);
  if (over.when !== null) parts.push(`WHEN ${printExpr(over.when)}`);
  return ` OVER (${parts.join(' ')})`;
}

function printWindow(window: WindowClause): string {
  const args = [...(window.unit === null ? [] : [window.unit]), ...window.args, ...window.conditions.map(printExpr)];
  const call = `${window.kind.toUpperCase()}WINDOW(${args.join(', ')})`;
  return call + printFilter(window.filter) + printOver(window.over);
}

const printers: Printers = { name: printName, list: printList, order: (items) => printOrder([...items]) };

function printTable({ name, alias, query }: TableRef): string {
  if (query?.kind === 'select' && query.pattern !== undefined) {
    return `${printTable(query.from)} ${matchSyntax().print(query.pattern, printers)} AS ${printName(name)}`;
  }
  return query === null ? printName(name) + printAlias(alias) : `(${printQuery(query)}) AS ${printName(name)}`;
}

function printJoin({ kind, table, on, asof }: Join): string {
  const words = asof === undefined ? kind : kind === 'LEFT' ? 'ASOF LEFT' : 'ASOF';
  const match = asof === undefined || asof.match === null ? '' : ` MATCH_CONDITION (${printExpr(asof.match)})`;
  return ` ${words} JOIN ${printTable(table)}${match}${on === null ? '' : ` ON ${printExpr(on)}`}`;
}

function printQuery(query: Query): string {
  return query.kind === 'union' ? query.selects.map(printSelect).join(' UNION ALL ') : printSelect(query);
}

function printOrder(items: Select['orderBy']): string {
  return items.map(({ expr, descending }) => `${printExpr(expr)}${descending ? ' DESC' : ''}`).join(', ');
}

function printSelect(select: Select): string {
  let text =
    `SELECT ${select.distinct ? 'DISTINCT ' : ''}${select.items.map(printItem).join(', ')} FROM ` +
    `${printTable(select.from)}`;
  text += select.joins.map(printJoin).join('');
  if (select.where !== null) text += ` WHERE ${printExpr(select.where)}`;
  const groups = select.groupBy.map(printExpr);
  if (select.window !== null) groups.push(printWindow(select.window));
  if (groups.length > 0) text += ` GROUP BY ${groups.join(', ')}`;
  if (select.having !== null) text += ` HAVING ${printExpr(select.having)}`;
  if (select.qualify !== null) text += ` QUALIFY ${printExpr(select.qualify)}`;
  if (select.orderBy.length > 0) text += ` ORDER BY ${printOrder(select.orderBy)}`;
  return select.limit === null ? text : `${text} LIMIT ${select.limit}`;
}

/** Prints a column type. */
function printFieldType(fieldType: FieldType): string {
  switch (fieldType.type) {
    case 'array':
      return `ARRAY(${printFieldType(fieldType.element)})`;
    case 'struct':
      return `STRUCT(${fieldType.fields.map(printField).join(', ')})`;
    default:
      return fieldType.type.toUpperCase();
  }
}

function printField(field: FieldDef): string {
  const value = field.default === null ? '' : ` DEFAULT ${printExpr(field.default)}`;
  return `${printName(field.name)} ${printFieldType(field.fieldType)}${value}`;
}

function printCreate({ target, name, fields, options }: CreateSource): string {
  const columns = fields === null ? '' : ` (${fields.map(printField).join(', ')})`;
  const settings = Object.entries(options).map(([option, value]) => `${option}=${printString(value)}`);
  return `CREATE ${target.toUpperCase()} ${printName(name)}${columns} WITH (${settings.join(', ')})`;
}
