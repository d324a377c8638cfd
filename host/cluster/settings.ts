/** The settings of this node, read and checked. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { clusterKeyReason } from '../base/config/cluster-spec.js';
import type { Config } from '../base/config/config.js';
import { reasonOf } from '../base/errors.js';
import type { NatsLogin } from '../clients/nats/client.js';
import { loginReason, serverReason } from '../clients/nats/connection.js';
import { clusterErrors } from './errors.js';

export interface NodeSettings {
  readonly cluster: string;
  readonly node: string;
  readonly login: NatsLogin;
  /** File that `login.credentials` is the text of, read again for each connection; left out where there is none. */
  readonly credentialsFile?: string;
  readonly tls: Readonly<Record<string, string>> | undefined;
  /** Key of the definitions with secrets; undefined: this node has none. */
  readonly key: Buffer | undefined;
  /** Whole seconds, as milliseconds. */
  readonly leaseTtlMs: number;
  readonly replicas: number;
}

/** Throws a `config` error that names the setting. */
export function nodeSettings({ cluster, basic }: Config): NodeSettings {
  const { username, password, token, nkeySeed, credentialsFile } = cluster;
  const credentials = fileOf('credentialsFile', credentialsFile);
  const login = { server: cluster.servers, username, password, token, nkeySeed, credentials };
  const server = serverReason(cluster.servers);
  if (server !== undefined) throw clusterErrors.setting('servers', server);
  const wrong = loginReason(login);
  if (wrong !== undefined) throw clusterErrors.setting('username', wrong);
  const key = cluster.key === '' ? fileOf('keyFile', cluster.keyFile).trim() : cluster.key.trim();
  const reason = key === '' ? undefined : clusterKeyReason(key);
  if (reason !== undefined) throw clusterErrors.setting(cluster.key === '' ? 'keyFile' : 'key', reason);
  const { caFile, certFile, keyFile } = cluster.tls;
  const files = Object.entries({ caFile, certFile, keyFile }).filter(([, path]) => path !== '');
  for (const [name, path] of files) fileOf(`tls.${name}`, path);
  return {
    cluster: cluster.name,
    node: cluster.node === '' ? `${hostname().replace(/[^A-Za-z0-9_.-]/g, '-')}-${basic.restPort}` : cluster.node,
    login,
    ...(credentialsFile !== '' && { credentialsFile }),
    tls: files.length === 0 ? undefined : Object.fromEntries(files),
    key: key === '' ? undefined : Buffer.from(key, 'base64'),
    leaseTtlMs: Math.ceil(cluster.leaseTtl / 1000) * 1000,
    replicas: cluster.replicas,
  };
}

function fileOf(name: string, path: string): string {
  if (path === '') return '';
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw clusterErrors.setting(name, reasonOf(error), { cause: error });
  }
}
