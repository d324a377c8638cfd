/**
 * The errors a user can meet. Anything thrown on purpose is a `HaumeaError`; every other exception is a defect of the
 * program. What REST answers with for each kind stands in rest/answer/error-codes.ts.
 */
export type ErrorKind =
  | 'general'
  /** The resource is there, but not in the state that the request needs. */
  | 'state'
  /** The caller has no right to do this, whatever the state. */
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
  /** Writing to disk failed: nothing has changed, and the same request may succeed later. */
  | 'storage'
  /** Too many requests wait already: the same request may succeed later. */
  | 'overload'
  /** The server is about to end. */
  | 'stopping';

/** An expected failure that ends a request, a rule or a start-up; `message` names the field and the reason. */
export class HaumeaError extends Error {
  readonly kind: ErrorKind;
  /** Area and name of its row in a table of errors: `rule.exists`. */
  readonly code: string | undefined;

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown; code?: string }) {
    super(message, options);
    this.name = 'HaumeaError';
    this.kind = kind;
    this.code = options?.code;
  }
}

/** Kind and text of an error; what the text names are the arguments of the function. */
type ErrorRow = readonly [kind: ErrorKind, text: string | ((...named: never[]) => string)];

type Named<T> = T extends (...named: infer N) => string ? N : [];

/** Makes the error of each row of a table; a cause may follow what the text names. */
type ErrorMakers<T extends Readonly<Record<string, ErrorRow>>> = {
  readonly [C in keyof T]: (...given: [...named: Named<T[C][1]>, options?: { cause?: unknown }]) => HaumeaError;
};

/** Declares the errors of an area. */
export function errorTable<const T extends Readonly<Record<string, ErrorRow>>>(area: string, rows: T): ErrorMakers<T> {
  const makers = Object.entries<ErrorRow>(rows).map(([name, [kind, text]]) => [
    name,
    (...given: never[]) => {
      const message = typeof text === 'string' ? text : text(...given);
      const options = given[typeof text === 'string' ? 0 : text.length] as { cause?: unknown } | undefined;
      return new HaumeaError(kind, message, { ...options, code: `${area}.${name}` });
    },
  ]);
  return Object.fromEntries(makers);
}

/** Returns the error with another kind, as when a failure of an inner part is the failure of the whole. */
export function asKind(kind: ErrorKind, error: HaumeaError): HaumeaError {
  return new HaumeaError(kind, error.message, { cause: error, code: error.code });
}

/** A failure that another thread has reported. */
export function ofOtherThread(kind: ErrorKind, text: string): HaumeaError {
  return new HaumeaError(kind, text);
}

/** Returns an error of the same kind and code with another text. */
export function reworded(error: HaumeaError, text: string): HaumeaError {
  return new HaumeaError(error.kind, text, { code: error.code });
}

/** Whether a refusal only means that the server is too busy or stops, so that the same request may succeed later. */
export function isLater(error: unknown): boolean {
  return error instanceof HaumeaError && (error.kind === 'overload' || error.kind === 'stopping');
}

/** Tells an exhausted stack: what clients and files nest without measure is walked through by recursion. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}

/** Returns the text of anything thrown; of an error of OpenSSL what is for people. */
export function reasonOf(error: unknown): string {
  if (isStackOverflow(error)) return 'it is nested too deeply';
  if (!(error instanceof Error)) return String(error);
  return 'library' in error && 'reason' in error ? `TLS: ${String(error.reason)}` : error.message;
}

/**
 * Makes what the file system refused a failure of storage that says what was to be done; other errors stay what they
 * are.
 */
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
    throw new HaumeaError(error.kind, `${context}: ${error.message}`, { cause: error, code: error.code });
  };
  try {
    const result = step();
    return result instanceof Promise ? (result.catch(wrap) as T) : result;
  } catch (error) {
    return wrap(error);
  }
}
