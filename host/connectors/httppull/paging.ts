/** Pages of an answer: each says how the next is asked for, by an address or by a cursor. */
import { textAt } from '../../http/rows.js';

export interface PagingConf {
  /** `link`: the header of that name; else path of a member with the address. Empty: no such paging. */
  readonly nextLink: string;
  /** Path of a member with the cursor. Empty: no such paging. */
  readonly nextCursor: string;
}

/** What is asked for: the first page, that at an address, or that behind a cursor. */
export interface Page {
  readonly at?: string;
  readonly cursor?: string;
}

export interface PageAnswer {
  readonly body: Buffer;
  /** Address that was asked. */
  readonly url: string;
  /** Header `Link`. */
  readonly link: string;
}

/** The first page; a template for the cursor finds an empty text. */
export function firstPage({ nextCursor }: PagingConf): Page {
  return nextCursor === '' ? {} : { cursor: '' };
}

/** The page that comes next; undefined at the end. Throws for an address at another server, which is not asked. */
export function nextPage({ nextLink, nextCursor }: PagingConf, { body, url, link }: PageAnswer): Page | undefined {
  if (nextCursor !== '') {
    const cursor = textAt(body, nextCursor);
    return cursor === '' ? undefined : { cursor };
  }
  if (nextLink === '') return undefined;
  const next = nextLink.toLowerCase() === 'link' ? linkIn(link) : textAt(body, nextLink);
  if (next === '') return undefined;
  if (!URL.canParse(next, url)) throw new Error('the next page has no valid address');
  const [from, to] = [new URL(url), new URL(next, url)];
  // The request may hold credentials, which are for this server.
  if (to.origin !== from.origin) throw new Error(`the next page is at another server, ${to.host}`);
  return { at: to.href };
}

/** The address with `rel="next"` in a header `Link`; empty without one. */
function linkIn(link: string): string {
  for (const [, address = '', parts = ''] of link.matchAll(/<([^>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parts);
    const names = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (names.includes('next')) return address;
  }
  return '';
}
