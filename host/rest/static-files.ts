/**
 * Files for browsers that the build has made: the console in dist/console, the guide in dist/docs. Browsers that ask
 * for the server are sent to the console.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Context } from 'koa';
import { programFile } from '../base/program/bundle.js';
import { unknownPath, wrongMethod } from './answer/answer.js';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};
/** Forms of a file by the names of their encodings, the best first. */
const forms: readonly (readonly [encoding: string, ending: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
  ['identity', ''],
];

/** No other host is asked for anything, and no page of another site shows the console in a frame. */
const contentSecurity = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The editor for statements writes attributes of style.
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Answers with a file of console or guide, sends browsers to them, or goes on to the interface for programs. */
export async function answerPage(ctx: Context, next: () => Promise<void>): Promise<void> {
  const isGet = ctx.method === 'GET' || ctx.method === 'HEAD';
  if (ctx.path === '/') {
    ctx.vary('Accept');
    if (!isGet || !ctx.get('Accept').includes('text/html')) return next();
    return ctx.redirect('console/');
  }
  if (!isGet) return send(ctx, wrongMethod);
  const [, folder = '', name] = /^\/(\w+)(?:\/(.*))?$/.exec(ctx.path) ?? [];
  if (name === undefined) return ctx.redirect(`${folder}/`);
  const file = name === '' || name.endsWith('/') ? `${name}index.html` : name;
  const type = types[extname(file)];
  if (type === undefined || !/^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/.test(file)) return send(ctx, unknownPath);
  return answerFile(ctx, `${folder}/${file}`, type);
}

async function answerFile(ctx: Context, name: string, type: string): Promise<void> {
  ctx.vary('Accept-Encoding');
  const found = await bestForm(ctx, name);
  if (found === undefined) return send(ctx, unknownPath);
  const { encoding, bytes } = found;
  if (encoding !== 'identity') ctx.set('Content-Encoding', encoding);
  ctx.set({
    // Names of other files than pages change with their content.
    'Cache-Control': extname(name) === '.html' ? 'no-cache' : 'public, max-age=31536000, immutable',
    'Content-Security-Policy': contentSecurity,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  });
  ctx.etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
  send(ctx, { status: 200, type, body: bytes });
  if (ctx.fresh) ctx.status = 304;
}

/** The first of the forms that the client takes and the build has made; a file itself is there always. */
async function bestForm(ctx: Context, name: string): Promise<{ encoding: string; bytes: Buffer } | undefined> {
  for (const [encoding, ending] of forms) {
    if (encoding !== 'identity' && !ctx.acceptsEncodings(encoding)) continue;
    const path = name + ending;
    const bytes = await readFile(programFile(path, `dist/${path}`)).catch(() => undefined);
    if (bytes !== undefined) return { encoding, bytes };
  }
  return undefined;
}

function send(ctx: Context, { status, type, body }: { status: number; type: string; body: string | Buffer }): void {
  ctx.status = status;
  ctx.type = type;
  ctx.body = body;
}
