/** What a source of pushed data and the data server, which runs on the main thread, tell each other. */

/** One channel for the process: all threads of a server are in it. */
export const pushChannel = `haumea-push-${process.pid}`;

export type PushMessage =
  /** The source `id` of a thread wants what is sent to the path. */
  | { kind: 'open'; id: string; thread: number; method: string; path: string }
  | { kind: 'opened'; id: string; reason: string | undefined }
  | { kind: 'close'; id: string }
  /** The body of a request; the client is answered when it is taken. */
  | { kind: 'data'; id: string; seq: number; body: Uint8Array; traceparent: string | undefined }
  | { kind: 'taken'; id: string; seq: number };
