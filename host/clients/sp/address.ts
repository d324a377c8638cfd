/** Addresses of SP sockets: `tcp://host:port` and `ipc:///path`. */
import type { NetConnectOpts } from 'node:net';

/** Why a text is no address; undefined when it is one. */
export function spAddressReason(url: string): string | undefined {
  if (/^ipc:\/\/.+/.test(url)) return undefined;
  if (!url.startsWith('tcp://')) return 'must begin with tcp:// or ipc://';
  const rest = url.slice('tcp://'.length);
  const isHost = URL.canParse(`http://${rest}`) && /:\d+$/.test(rest);
  return isHost ? undefined : 'must be an address such as tcp://127.0.0.1:7081 or ipc:///tmp/neuron.ipc';
}

export function spTarget(url: string): NetConnectOpts {
  if (url.startsWith('ipc://')) return { path: url.slice('ipc://'.length) };
  const rest = url.slice('tcp://'.length);
  const colon = rest.lastIndexOf(':');
  return { host: rest.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(rest.slice(colon + 1)) };
}
