/** Bodies of requests with their Content-Type. */
import { randomUUID } from 'node:crypto';

const contentTypes: Readonly<Record<string, string>> = {
  text: 'text/plain',
  json: 'application/json',
  html: 'text/html',
  xml: 'application/xml',
  javascript: 'application/javascript',
  form: 'application/x-www-form-urlencoded',
  binary: 'application/octet-stream',
};

export interface HttpBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

export function bodyOf(bodyType: string, bytes: Uint8Array): HttpBody {
  if (bodyType === 'none') return { headers: {}, body: undefined };
  return { headers: { 'Content-Type': contentTypes[bodyType] ?? 'application/octet-stream' }, body: bytes };
}

/** A form of several parts: the file first, then the fields. */
export function formOf(fileField: string, file: Uint8Array, fields: Readonly<Record<string, unknown>>): HttpBody {
  const boundary = `----haumea-${randomUUID()}`;
  const disposition = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
  const text = Object.entries(fields)
    .map(([name, value]) => `\r\n${disposition(name)}\r\n\r\n${String(value)}`)
    .join('');
  const body = Buffer.concat([
    Buffer.from(`${disposition(fileField)}; filename="message"\r\nContent-Type: application/octet-stream\r\n\r\n`),
    file,
    Buffer.from(`${text}\r\n--${boundary}--\r\n`),
  ]);
  return { headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` }, body };
}

function quoted(name: string): string {
  return name.replace(/[\r\n"]/g, (char) => encodeURIComponent(char));
}

/** Joins headers: a name in `own` replaces the same name in `usual`, in any letter case. */
export function withHeaders(
  usual: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const left = Object.entries(usual).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...Object.fromEntries(left), ...own };
}
