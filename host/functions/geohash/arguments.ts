/** Arguments of the functions of geohashes. */
import { printed } from '../printing/printed.js';
import { type Cell, cellAt, cellOfInteger, cellOfLetters } from './cells.js';

/** The cell around a place; throws for what are no degrees. */
export function cellAround(latitude: unknown, longitude: unknown): Cell {
  return cellAt(degrees(latitude, 0, 90), degrees(longitude, 1, 180));
}

function degrees(value: unknown, place: number, most: number): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number') throw wrong(value, place, 'float');
  if (!(Math.abs(number) <= most)) throw new Error(`arg[${place}] is not within ${-most} and ${most}, got ${number}`);
  return number;
}

/** The cell of a geohash of letters. */
export function letterCell(hash: unknown): Cell {
  if (typeof hash !== 'string' || hash === '') throw wrong(hash, 0, 'string');
  return cellOfLetters(hash);
}

/** The cell of a geohash that is an integer. */
export function integerCell(hash: unknown): Cell {
  if (typeof hash === 'bigint') return cellOfInteger(hash);
  if (typeof hash === 'number' && Number.isSafeInteger(hash)) return cellOfInteger(BigInt(hash));
  throw wrong(hash, 0, 'bigint');
}

export function directionOf(direction: unknown): string {
  if (typeof direction !== 'string' || direction === '') throw wrong(direction, 1, 'string');
  return direction;
}

function wrong(value: unknown, place: number, kind: string): Error {
  const shown = value === null || value === undefined ? '<nil>' : printed(value);
  return new Error(`arg[${place}] is not a ${kind}, got ${shown.slice(0, 100)}`);
}
