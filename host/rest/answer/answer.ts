/** Answers for results and failures of handlers: status, body text, content type. */
import { Readable } from 'node:stream';
import { HaumeaError, isStackOverflow, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { LongJson } from '../../services/body/long-json.js';
import { Outcome } from '../../services/body/outcome.js';
import { requestErrors } from '../errors.js';
import { BodyTooLarge, TooManyBodies } from '../route/body.js';
import { Reply, type RestRequest, type Route } from '../route/route.js';
import { replyOf } from '../route/warnings.js';
import type { Services } from '../services.js';
import { errorCodes } from './error-codes.js';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer | Readable;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that is there as a whole. */
export interface WholeAnswer extends Answer {
  readonly body: string | Buffer;
}

const plainText = 'text/plain; charset=utf-8';
const json = 'application/json; charset=utf-8';

export const unknownPath: WholeAnswer = { status: 404, type: plainText, body: '404 page not found\n' };
export const wrongMethod: WholeAnswer = { status: 405, type: plainText, body: '' };

/** Runs a handler. Changes wait while an import holds the definitions; reading never waits. */
export async function answerOf(route: Route<Services>, request: RestRequest, services: Services): Promise<Answer> {
  if (!request.mayChange && !isReading(route, request)) throw requestErrors.onlyRead(`${route.method} ${route.path}`);
  const handle = async () => route.handle(request, services);
  const isShared = route.method !== 'GET' && route.gate !== 'none';
  const result = await (isShared ? services.gate.shared(handle) : handle());
  const { body, type, headers, ...reply } =
    result instanceof Reply ? result : result instanceof Outcome ? replyOf(result) : new Reply(result);
  const status = reply.status ?? route.status ?? 200;
  if (typeof body === 'string' || Buffer.isBuffer(body)) return { status, type: type ?? plainText, body, headers };
  if (body instanceof Readable) return { status, type: type ?? plainText, body, headers };
  if (body instanceof LongJson) return { status, type: type ?? json, body: body.bytes, headers };
  if (body === undefined) return { status, type: type ?? plainText, body: '', headers };
  return { status, type: type ?? json, body: JSON.stringify(body), headers };
}

function isReading({ method, isOrder, reads }: Route<Services>, request: RestRequest): boolean {
  return reads?.(request) ?? (method === 'GET' && isOrder !== true);
}

/**
 * Turns anything thrown into an answer; what is a defect of the program is logged as well. `what` names the request.
 */
export function answerOfFailure(error: unknown, what: string, log: Logger): WholeAnswer {
  const failure = (status: number, code: number, message: string): WholeAnswer => ({
    status,
    type: json,
    body: JSON.stringify({ error: code, message }),
  });
  if (error instanceof HaumeaError) {
    const { status, code } = errorCodes[error.kind];
    return failure(status, code, error.message);
  }
  if (error instanceof BodyTooLarge) return failure(413, 1000, error.message);
  if (error instanceof TooManyBodies) return failure(503, 1000, error.message);
  if (isStackOverflow(error)) return failure(400, 1000, reasonOf(error));
  if (isMalformedPath(error)) return failure(400, 1000, `the path of ${what} is not correctly encoded`);
  log.error(`${what} failed`, { error: error instanceof Error ? error.stack : String(error) });
  return failure(500, 1000, `internal error: ${reasonOf(error)}`);
}

/** The router throws this for a percent sign without two digits. */
function isMalformedPath(error: unknown): boolean {
  return error instanceof URIError || (error as { status?: unknown } | null)?.status === 400;
}
