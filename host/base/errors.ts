/**
 * One table of the errors a user can meet: a stable code name, the number of the REST error envelope, the HTTP status.
 * Anything thrown on purpose is a `HaumeaError`; every other exception is a defect of the program.
 */
export const errorTable = {
  general: { code: 1000, status: 400 },
  /** The resource is there, but not in the state that the request needs. */
  state: { code: 1001, status: 400 },
  /** Whoever asks may not, whatever the state. */
  forbidden: { code: 1000, status: 403 },
  notFound: { code: 1002, status: 404 },
  connection: { code: 1003, status: 400 },
  mediaType: { code: 1000, status: 415 },
  codec: { code: 1004, status: 400 },
  parse: { code: 2001, status: 400 },
  plan: { code: 2101, status: 400 },
  unknownConnector: { code: 2201, status: 400 },
  /** The connector is there, but can't work with the properties given. */
  sink: { code: 2201, status: 400 },
  stream: { code: 3000, status: 400 },
  rule: { code: 4000, status: 400 },
  config: { code: 5000, status: 400 },
  /** The disk did not take what is to be kept: nothing has changed, the same request may succeed later. */
  storage: { code: 1000, status: 500 },
  /** The server is about to end. */
  stopping: { code: 1000, status: 503 },
} as const;

export type ErrorKind = keyof typeof errorTable;

/** An expected failure that ends a request, a rule or a start-up; `message` names the field and the reason. */
export class HaumeaError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'HaumeaError';
    this.kind = kind;
  }

  get code(): number {
    return errorTable[this.kind].code;
  }

  get status(): number {
    return errorTable[this.kind].status;
  }
}

/** Tells an exhausted stack: what clients and files nest without measure is walked through by recursion. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}

/** Returns the text of anything thrown. */
export function reasonOf(error: unknown): string {
  if (isStackOverflow(error)) return 'it is nested too deeply';
  return error instanceof Error ? error.message : String(error);
}

/** Makes what the file system refused a failure of storage that says what was to be done; other errors stay what they are. */
export function asStorageError(error: unknown, what: string): unknown {
  const isRefused = error instanceof Error && 'syscall' in error && 'code' in error;
  return isRefused ? new HaumeaError('storage', `${what}: ${error.message}`, { cause: error }) : error;
}

/** The reason a YAML text can't be read, with its line and column; the lines below the first only show the place. */
export function yamlReason(error: unknown): string {
  return reasonOf(error).split(/:?\n/, 1)[0] ?? '';
}
