/** Messages between a source of pushed data and the data server, which runs on the main thread. */

/** The channel of endpoints (endpoints.ts); all threads of a server are in it. */
export const endpointChannel = `haumea-endpoints-${process.pid}`;

/** One channel for the process: all threads of a server are in it. */
export const pushChannel = `haumea-push-${process.pid}`;

export type PushMessage =
  /** The source `id` of a thread wants what is sent to the path. */
  | { kind: 'open'; id: string; thread: number; method: string; path: string; isFull: boolean }
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
