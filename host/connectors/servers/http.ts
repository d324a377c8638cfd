/** Tries out a server that is asked over HTTP, with the token of OAuth where there is one. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { pingHttp, statusOf } from '../../http/ping.js';
import type { HttpConf } from '../../http/props.js';
import { HttpSession } from '../../http/session.js';
import { headerTemplates } from '../../http/text-template.js';
import { connectorErrors } from '../errors.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

interface PingConf extends TlsConf, Pick<HttpConf, 'headers' | 'oauth' | 'timeout' | 'debugResp'> {
  url?: string | undefined;
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Asks for the head of an answer; of an address that is a template for that of the server. */
export async function ping(conf: PingConf): Promise<void> {
  const { url = '', timeout: timeoutMs } = conf;
  if (url === '') throw connectorErrors.props('http connection', 'url is required');
  const tls = await tlsOptions('http', conf, AllowedPaths.any());
  const session = new HttpSession(conf, silent as never, { tls, maxAtOnce: 1 });
  try {
    const token = await session.authorized();
    const asked = url.includes('{{') ? new URL(url.slice(0, url.indexOf('{{'))).origin : url;
    await pingHttp({ url: asked, headers: headerTemplates(conf.headers)(token), tls, timeoutMs });
  } finally {
    session.close();
  }
}

interface EventsConf extends TlsConf {
  url?: string | undefined;
  token: string;
  headers: Record<string, unknown>;
  timeout: number;
}

/** Asks for events, and ends the request when they would begin. */
export async function pingEvents({ url = '', token, headers, timeout, ...conf }: EventsConf): Promise<void> {
  // Clients come to the data server.
  if (url === '') return;
  const tls = await tlsOptions('sse', conf, AllowedPaths.any());
  const own = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  const login = token === '' ? [] : [['Authorization', `Bearer ${token}`] as const];
  const asked = Object.fromEntries([['Accept', 'text/event-stream'] as const, ...login, ...own]);
  const status = await statusOf({ url, headers: asked, tls, timeoutMs: timeout }, 'GET');
  // The path comes with the DATASOURCE, so that there may be nothing yet.
  if (status >= 400 && status !== 404) throw connectorErrors.endpoint(`${new URL(url).host}: status ${status}`);
}
