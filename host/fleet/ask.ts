/** Asks many servers at once: few at a time, none longer than allowed, and what one says or not is its own affair. */
import { reasonOf } from '../base/errors.js';
import { HaumeaClient, Refusal, Unreachable } from '../sdk/client.js';
import type { FleetServer } from './list.js';

export interface AskOptions {
  /** Longest wait for all that is asked of one server, ms. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What stands for a server in answers: nothing of how to sign in. */
export interface Shown {
  readonly name: string;
  readonly url: string;
  readonly groups: readonly string[];
}

/** A server that was asked, with what it told or the reason for which it did not. */
export type Asked<T> = Shown & ({ readonly told: T } | { readonly reason: string; readonly isAway: boolean });

/** Servers asked at the same time. */
const atOnce = 16;
const defaultTimeoutMs = 10_000;
/** Longest answer of a server, bytes: definitions of tens of thousands of rules fit into it. */
const maxAnswerBytes = 32 << 20;

/** Asks each server; the answers are in the order of the list. Never rejects. */
export async function askEach<T>(
  servers: readonly FleetServer[],
  question: (client: HaumeaClient, signal: AbortSignal, server: FleetServer) => Promise<T>,
  options: AskOptions = {},
): Promise<readonly Asked<T>[]> {
  const answers: Asked<T>[] = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < servers.length; i = next++) {
      answers[i] = await askOne(servers[i] as FleetServer, question, options);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, servers.length) }, work));
  return answers;
}

export async function askOne<T>(
  server: FleetServer,
  question: (client: HaumeaClient, signal: AbortSignal, server: FleetServer) => Promise<T>,
  { timeoutMs = defaultTimeoutMs, signal }: AskOptions = {},
): Promise<Asked<T>> {
  const limit = AbortSignal.timeout(timeoutMs);
  const all = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  const shown = shownOf(server);
  try {
    return { ...shown, told: await question(clientOf(server), all, server) };
  } catch (error) {
    if (error instanceof Refusal) return { ...shown, reason: refusalText(error), isAway: false };
    if (limit.aborted) return { ...shown, reason: `no answer within ${timeoutMs / 1000} s`, isAway: true };
    return { ...shown, reason: awayText(error), isAway: true };
  }
}

export const shownOf = ({ name, url, groups }: FleetServer): Shown => ({ name, url, groups });

function clientOf({ url: base, token }: FleetServer): HaumeaClient {
  return new HaumeaClient({ base, token: () => token, fetch: askBounded });
}

/** No server sends who asks to another address, and no answer is endless. */
const askBounded: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' });
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) controller.error(new Error(`the answer has more than ${maxAnswerBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body?.pipeThrough(bounded) ?? null, { status, statusText, headers });
};

function refusalText({ status, message }: Refusal): string {
  return status === 401 || status === 403 ? `not allowed (${status}): ${message}` : message;
}

/** What lies below an error of `fetch` says more than it. */
function awayText(error: unknown): string {
  let deepest = error;
  while (deepest instanceof Error && deepest.cause !== undefined) deepest = deepest.cause;
  const reason = reasonOf(deepest) || ((deepest as NodeJS.ErrnoException)?.code ?? '');
  return error instanceof Unreachable ? `no answer: ${reason}` : reason;
}
