/** Messages between a source of pushed data and the data server, which runs on the main thread. */

import { threadId, workerData } from 'node:worker_threads';

/** The channel of endpoints (endpoints.ts); all threads of a server are in it. */
export const endpointChannel = `haumea-endpoints-${process.pid}`;

/** One channel for the process: all threads of a server are in it. */
export const pushChannel = `haumea-push-${process.pid}`;

/** A thread of a data plane. Ids rise: those before it of the same data plane have ended. */
export interface PlaneThread {
  readonly plane: number;
  readonly id: number;
}

/** The thread that asks, of the data plane with the number that it was given at its start. */
export function ownThread(): PlaneThread {
  return { plane: (workerData as { plane?: number } | null)?.plane ?? 0, id: threadId };
}

/** Whether a thread has ended since the other one is there. */
export function isBefore(thread: PlaneThread, other: PlaneThread): boolean {
  return thread.plane === other.plane && thread.id < other.id;
}

export type PushMessage =
  /** The source `id` of a thread wants what is sent to the path. */
  | { kind: 'open'; id: string; thread: PlaneThread; method: string; path: string; isFull: boolean }
  | { kind: 'opened'; id: string; reason: string | undefined }
  | { kind: 'close'; id: string }
  /** The sinks of the source take no more, or do again: bodies wait at the data server meanwhile. */
  | { kind: 'flow'; id: string; isFull: boolean }
  /** The body of a request, which the source takes without waiting; the client is answered when it is taken. */
  | { kind: 'data'; id: string; seq: number; body: Uint8Array; traceparent: string | undefined }
  | { kind: 'taken'; id: string; seq: number }
  /** The engine has no memory for the body. */
  | { kind: 'unfit'; id: string; seq: number }
  /** A client was turned away since too much waits for the source. */
  | { kind: 'refused'; id: string; reason: string };
