/**
 * The errors a user can meet. Anything thrown on purpose is a `HaumeaError`; every other exception is a defect of the
 * program. What REST answers with for each kind stands in rest/error-codes.ts.
 */
export type ErrorKind =
  | 'general'
  /** The resource is there, but not in the state that the request needs. */
  | 'state'
  /** Whoever asks may not, whatever the state. */
  | 'forbidden'
  | 'notFound'
  | 'connection'
  | 'mediaType'
  | 'codec'
  | 'parse'
  | 'plan'
  | 'unknownConnector'
  /** The connector is there, but can't work with the properties given. */
  | 'sink'
  | 'stream'
  | 'rule'
  | 'config'
  /** The disk did not take what is to be kept: nothing has changed, the same request may succeed later. */
  | 'storage'
  /** So much waits already that no more is taken: the same request may succeed later. */
  | 'overload'
  /** The server is about to end. */
  | 'stopping';

/** An expected failure that ends a request, a rule or a start-up; `message` names the field and the reason. */
export class HaumeaError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'HaumeaError';
    this.kind = kind;
  }
}

/** Tells a refusal that says nothing of what was asked for: the server is too busy, or ends. */
export function isLater(error: unknown): boolean {
  return error instanceof HaumeaError && (error.kind === 'overload' || error.kind === 'stopping');
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

/** Runs a step; an expected failure gets the context in front. */
export function inContext<T>(context: string, step: () => T): T {
  const wrap = (error: unknown): never => {
    if (!(error instanceof HaumeaError)) throw error;
    throw new HaumeaError(error.kind, `${context}: ${error.message}`, { cause: error });
  };
  try {
    const result = step();
    return result instanceof Promise ? (result.catch(wrap) as T) : result;
  } catch (error) {
    return wrap(error);
  }
}
