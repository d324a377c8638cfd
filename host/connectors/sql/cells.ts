/** Values of databases as those of rows. */
import type { Value } from '../../../kernels/values/value.js';
import { readExactJson } from '../../base/text/exact-json.js';
import type { Cell, CellKind, SqlParam } from '../../clients/sql/driver.js';

/** The JSON of a cell: numbers keep their digits, and those that are no integers have a point. */
export function cellJson(cell: Cell, kind: CellKind): string {
  if (cell === null) return 'null';
  switch (fitting(cell, kind)) {
    case 'int':
      return String(cell);
    case 'float':
    case 'decimal':
      return numberJson(String(cell));
    case 'bool':
      return String(boolOf(cell));
    case 'time':
      return JSON.stringify(timeText(String(cell)));
    case 'json':
      return String(cell);
    case 'bytes':
      return typeof cell === 'string' ? JSON.stringify(cell) : bytesJson(cell as Uint8Array);
    case 'text':
      return JSON.stringify(cell instanceof Uint8Array ? Buffer.from(cell).toString() : String(cell));
    case 'any':
      return anyJson(cell);
  }
}

/** The value of a cell. */
export function cellValue(cell: Cell, kind: CellKind): Value {
  if (cell === null) return null;
  switch (fitting(cell, kind)) {
    case 'int':
      return BigInt(cell as string | number);
    case 'float':
    case 'decimal':
      return Number(cell);
    case 'bool':
      return boolOf(cell);
    case 'time':
      return timeText(String(cell));
    case 'json':
      return readExactJson(String(cell)) as Value;
    case 'text':
      return cell instanceof Uint8Array ? Buffer.from(cell).toString() : String(cell);
    case 'bytes':
      return cell;
    case 'any':
      return typeof cell === 'number' && Number.isSafeInteger(cell) ? BigInt(cell) : cell;
  }
}

/** A column of SQLite may hold values of other types than its own. */
function fitting(cell: Exclude<Cell, null>, kind: CellKind): CellKind {
  if (kind === 'time' && typeof cell !== 'string') return 'any';
  const isOther = kind === 'float' && (cell instanceof Uint8Array || (typeof cell === 'string' && !isNumeric(cell)));
  return isOther ? 'any' : kind;
}

const isNumeric = (text: string) => text !== '' && (!Number.isNaN(Number(text)) || /^[+-]?(nan|inf)/i.test(text));

/** What a query is told to go on behind: exact, and as the database compares it. */
export function cellParam(cell: Cell, kind: CellKind): SqlParam {
  if (kind === 'int' || kind === 'any') return cell;
  if (kind === 'float') return Number(cell);
  return cell instanceof Uint8Array ? cell : cell === null ? null : String(cell);
}

/** Infinite numbers have no JSON. */
function numberJson(text: string): string {
  if (!Number.isFinite(Number(text)) || text === '') return 'null';
  // A database may leave out the zero before the point.
  const whole = text.replace(/^(-?)\./, '$10.').replace(/^\+/, '');
  return /[.e]/i.test(whole) ? whole : `${whole}.0`;
}

function anyJson(cell: Exclude<Cell, null>): string {
  if (typeof cell === 'number') return Number.isSafeInteger(cell) ? String(cell) : numberJson(String(cell));
  if (typeof cell === 'string') return JSON.stringify(cell);
  return cell instanceof Uint8Array ? bytesJson(cell) : String(cell);
}

function bytesJson(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'));
}

function boolOf(cell: Exclude<Cell, null>): boolean {
  if (cell instanceof Uint8Array) return cell.some((byte) => byte !== 0);
  return typeof cell === 'string' ? /^(t|true|1|y|yes|on)$/i.test(cell) : Boolean(cell);
}

/** A time as RFC 3339 has it; other texts stay as they are. */
function timeText(text: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(\.\d+)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(text);
  if (parts === null) return text;
  const [, day, time = '00:00:00', fraction = '', zone = ''] = parts;
  return `${day}T${time}${fraction.replace(/\.?0+$/, '')}${offsetOf(zone)}`;
}

function offsetOf(zone: string): string {
  if (zone === '' || /^(Z|[+-]00(:?00)?)$/.test(zone)) return 'Z';
  const minutes = zone.slice(3).replace(':', '') || '00';
  return `${zone.slice(0, 3)}:${minutes}`;
}
