/** Events of EdgeX: a row with its metadata, both ways. */
import { randomUUID } from 'node:crypto';
import type { Value } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import { apiVersion } from './envelope.js';
import { edgexErrors } from './errors.js';
import { heldOf, type Reading, readingValue } from './readings.js';

type Dict = { readonly [name: string]: Value };

export interface EventRow {
  readonly row: { [name: string]: Value };
  readonly meta: Record<string, unknown>;
}

/** Version of the interface that events name. */
const eventVersion = 'v4';

/**
 * The row of an event, or of a request that brings one. Readings that are not right are left out, with their reasons in
 * `wrong`; throws when none is left.
 */
export function rowOfEvent(payload: unknown, isRequest: boolean, wrong: (reason: string) => void): EventRow {
  const event = isRequest ? (payload as { event?: unknown } | null)?.event : payload;
  if (typeof event !== 'object' || event === null) throw edgexErrors.noEvent();
  const { readings, id, deviceName, profileName, sourceName, origin, tags } = event as Record<string, unknown>;
  const row: { [name: string]: Value } = {};
  const meta: Record<string, unknown> = {};
  for (const reading of Array.isArray(readings) ? (readings as (Reading & Record<string, unknown>)[]) : []) {
    const name = reading.resourceName;
    if (typeof name !== 'string' || name === '') {
      wrong('a reading has no name');
      continue;
    }
    try {
      row[name] = readingValue(reading);
    } catch (error) {
      wrong(`reading ${name}: ${reasonOf(error)}`);
    }
    const { mediaType } = reading;
    meta[name] = {
      id: reading.id,
      origin: reading.origin,
      deviceName: reading.deviceName,
      profileName: reading.profileName,
      valueType: reading.valueType,
      ...(mediaType ? { mediaType } : {}),
    };
  }
  if (Object.keys(row).length === 0) throw edgexErrors.noEvent();
  return { row, meta: { ...meta, id, deviceName, profileName, sourceName, origin, tags: tags ?? null } };
}

export interface EventNames {
  readonly deviceName: string;
  readonly profileName: string;
  readonly sourceName: string;
  /** Member of the rows with metadata; empty: none. */
  readonly metadata: string;
}

export interface EdgexEvent {
  readonly apiVersion: string;
  readonly id: unknown;
  readonly deviceName: string;
  readonly profileName: string;
  readonly sourceName: string;
  readonly origin: unknown;
  readonly readings: readonly object[];
  readonly tags?: unknown;
}

const ofReading = ['id', 'deviceName', 'profileName', 'origin', 'valueType', 'mediaType'] as const;

/** The event of the rows of a message. Members that can't be readings are left out, with their reasons in `wrong`. */
export function eventOf(rows: readonly Dict[], names: EventNames, wrong: (reason: string) => void): EdgexEvent {
  const meta = metaOf(rows, names.metadata, wrong);
  const text = (name: 'deviceName' | 'profileName' | 'sourceName') =>
    typeof meta[name] === 'string' && meta[name] !== '' ? (meta[name] as string) : names[name];
  const [deviceName, profileName, sourceName] = [text('deviceName'), text('profileName'), text('sourceName')];
  const readings: object[] = [];
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (name === names.metadata || value === null || value === undefined) continue;
      const own = isDict(meta[name]) ? meta[name] : {};
      try {
        const held = heldOf(name, value, typeof own.valueType === 'string' ? own.valueType : undefined);
        const usual = { id: randomUUID(), origin: now(), deviceName, resourceName: name, profileName };
        readings.push({ ...usual, ...held, ...givenIn(own) });
      } catch (error) {
        wrong(reasonOf(error));
      }
    }
  }
  return {
    apiVersion: eventVersion,
    id: typeof meta.id === 'string' ? meta.id : randomUUID(),
    deviceName,
    profileName,
    sourceName,
    origin: numberIn(meta.origin) ?? now(),
    readings,
    ...(isDict(meta.tags) && { tags: meta.tags }),
  };
}

/** The event as a request to add it. */
export function requestOf(event: EdgexEvent): object {
  return { apiVersion, requestId: randomUUID(), event };
}

/** What the metadata say of a reading. */
function givenIn(own: Dict): Record<string, unknown> {
  const given = ofReading.flatMap((name) => {
    const value = name === 'origin' ? numberIn(own[name]) : own[name];
    const isRight = name === 'origin' ? value !== undefined : typeof value === 'string';
    return isRight ? [[name, value] as const] : [];
  });
  return Object.fromEntries(given);
}

function metaOf(rows: readonly Dict[], name: string, wrong: (reason: string) => void): Dict {
  if (name === '') return {};
  const meta = rows.find((row) => row[name] !== undefined)?.[name];
  if (isDict(meta)) return meta;
  if (meta !== undefined && meta !== null) wrong(`the member ${name} is no object with metadata`);
  return {};
}

function numberIn(value: Value): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isFinite(value) ? BigInt(Math.trunc(value)) : undefined;
}

/** Nanoseconds since the epoch. */
function now(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

function isDict(value: Value): value is { [name: string]: Value } {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
