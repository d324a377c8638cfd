/** The server that this page came from: its client, and whether it answers. */
import { computed, signal } from '@preact/signals';
import { type Answer, HaumeaClient, type Input, Refusal, type Route, Unreachable } from '../../sdk/client.js';

const tokenKey = 'haumea.token';
/** The token is kept for this tab alone: who closes it is logged out. */
export const token = signal<string | undefined>(sessionStorage.getItem(tokenKey) ?? undefined);

/** The token may only read, as it says itself; the server refuses what it does not allow. */
export const isReadOnly = computed(() => claimsOf(token.value).access === 'read');

function claimsOf(text = ''): { readonly access?: unknown } {
  try {
    const part = text.split('.')[1] ?? '';
    return JSON.parse(atob(part.replace(/-/g, '+').replace(/_/g, '/'))) ?? {};
  } catch {
    return {};
  }
}

/** False while the server does not answer. */
export const isAnswering = signal(true);

/** The reason for which the server wants a token, or another one; undefined while it takes what it gets. */
export const loginReason = signal<string | undefined>(undefined);

/** The server has taken what this page asked, since it was loaded or its user logged out. */
export const isLetIn = signal(false);

export const client = new HaumeaClient({
  base: new URL('..', document.baseURI.replace(/#.*/, '')).href.replace(/\/$/, ''),
  token: () => token.value,
});

/** Asks the server, and notes whether it answers and lets the user in. */
export async function ask<R extends Route>(
  route: R,
  ...input: Record<never, never> extends Omit<Input<R>, 'signal'> ? [Input<R>?] : [Input<R>]
): Promise<Answer<R>> {
  try {
    const answer = await client.ask(route, ...(input as [Input<R>]));
    isAnswering.value = true;
    isLetIn.value = true;
    return answer;
  } catch (error) {
    noted(error);
    throw error;
  }
}

/** Notes what an error says of the server. */
export function noted(error: unknown): void {
  if (error instanceof Unreachable) isAnswering.value = false;
  if (!(error instanceof Refusal)) return;
  isAnswering.value = true;
  if (error.status === 401) loginReason.value = error.message;
}

export function logIn(text: string): void {
  sessionStorage.setItem(tokenKey, text);
  token.value = text;
  loginReason.value = undefined;
}

export function logOut(): void {
  sessionStorage.removeItem(tokenKey);
  token.value = undefined;
  isLetIn.value = false;
  loginReason.value = '';
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
