/**
 * Channels on which sources and sinks ask for the data server; it, and what serves a channel, are loaded with the first
 * message.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { Logger } from '../../base/log/log.js';
import type { ToEndpoint } from '../../connectors/endpoints.js';
import { endpointChannel, type PushMessage, pushChannel } from '../../connectors/push-channel.js';
import type { DataServer } from './data-server.js';
import type { EndpointOptions } from './endpoint-gateway.js';
import type { PushOptions } from './push-gateway.js';

interface Loaded<M> {
  take(message: M): void;
  close?(): void;
}

class Gateway<M> {
  readonly #channel: BroadcastChannel;
  #loaded: Promise<Loaded<M>> | undefined;

  constructor(name: string, load: (channel: BroadcastChannel) => Promise<Loaded<M>>) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.unref();
    this.#channel.onmessage = (event: unknown) => {
      this.#loaded ??= load(this.#channel);
      void this.#loaded.then((loaded) => loaded.take((event as { data: M }).data));
    };
  }

  async close(): Promise<void> {
    this.#channel.close();
    (await this.#loaded)?.close?.();
  }
}

/** Messages that clients push to sources. */
export function pushes(
  server: () => Promise<DataServer>,
  log: Logger,
  options: PushOptions = {},
): Gateway<PushMessage> {
  return new Gateway(pushChannel, async (channel) => {
    const { PushGateway } = await import('./push-gateway.js');
    return new PushGateway(await server(), log, channel, options);
  });
}

/** Websocket endpoints and event streams. */
export function endpoints(server: () => Promise<DataServer>, options: EndpointOptions): Gateway<ToEndpoint> {
  return new Gateway(endpointChannel, async (channel) => {
    const { EndpointGateway } = await import('./endpoint-gateway.js');
    return new EndpointGateway(await server(), options, channel);
  });
}
