/** Where the server is and how to sign in: flags, environment, `etc/client.yaml`, in this order. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf, yamlReason } from '../../base/errors.js';
import { isObject } from '../../base/structures/is-object.js';
import { UsageError } from './command.js';
import type { ClientOptions } from './rest-client.js';

const defaultHost = '127.0.0.1';
const restPort = 9081;
/** Port of another protocol for command lines, in client files made for it: here everything goes over REST. */
const foreignPort = 20_498;
const defaultTimeoutSeconds = 30;

type Env = Readonly<Record<string, string | undefined>>;

/** Returns how to reach the server; throws a `UsageError` for settings that can't be. */
export async function clientSettings(flags: ReadonlyMap<string, string>, env: Env): Promise<ClientOptions> {
  const url =
    flags.get('url') ?? nonEmpty(env.HAUMEA_URL) ?? (await urlFromFile(env)) ?? `http://${defaultHost}:${restPort}`;
  return { url: checkedUrl(url), token: token(flags.get('token'), env), timeoutMs: timeoutMs(flags.get('timeout')) };
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${text} is no address of a server, such as http://127.0.0.1:9081`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function token(file: string | undefined, env: Env): string | undefined {
  if (file === undefined) return nonEmpty(env.HAUMEA_TOKEN);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`can't read the token: ${reasonOf(error)}`);
  }
}

function timeoutMs(text: string | undefined): number {
  const seconds = Number(text ?? defaultTimeoutSeconds);
  // Timers don't reach further.
  if (!(seconds > 0 && seconds <= 2_000_000))
    throw new UsageError(`--timeout must be a number of seconds, not ${text}`);
  return seconds * 1000;
}

/** Reads `basic.host` and `basic.port` of client.yaml in the etc folder below the base folder. */
async function urlFromFile(env: Env): Promise<string | undefined> {
  const file = join(nonEmpty(env.KuiperBaseKey) ?? '.', 'etc', 'client.yaml');
  if (!existsSync(file)) return undefined;
  const { default: yaml } = await import('yaml');
  let basic: unknown;
  try {
    const content: unknown = yaml.parse(readFileSync(file, 'utf8'));
    basic = isObject(content) ? content.basic : undefined;
  } catch (error) {
    throw new UsageError(`${file}: ${yamlReason(error)}`);
  }
  if (!isObject(basic)) return undefined;
  const { host = defaultHost, port = restPort } = basic;
  if (typeof host !== 'string') throw new UsageError(`${file}: basic.host must be a text`);
  if (!Number.isInteger(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new UsageError(`${file}: basic.port must be a port number`);
  }
  return `http://${host.includes(':') ? `[${host}]` : host}:${port === foreignPort ? restPort : port}`;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
