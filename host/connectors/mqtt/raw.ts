/** Whether the bytes of a connection go to the kernel as they come. */

export interface Subscription {
  readonly qos: number;
  readonly enableClientSession: boolean;
  readonly eofMessage: string;
  readonly decompression: string;
  readonly schemaRegistryUrl: string;
}

/**
 * A payload that ends the stream, is compressed, or waits for its schema needs a look in JavaScript. Without a session
 * QoS 2 has nothing to remember over a connection, and the client library knows the rest of it.
 */
export function isRaw({ qos, enableClientSession, ...given }: Subscription): boolean {
  const { eofMessage, decompression, schemaRegistryUrl } = given;
  return eofMessage === '' && decompression === '' && schemaRegistryUrl === '' && (qos < 2 || enableClientSession);
}
