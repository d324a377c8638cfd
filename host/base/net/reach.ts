/**
 * Addresses that requests of connectors may reach. What a definition names is up to its author, who may mean the
 * machine beside the server. An address that comes with data, by a row, an answer or a redirect, must be a public one,
 * and addresses where clouds hand out credentials are nobody's; `basic.enablePrivateNet` opens all of them.
 */
import { isIP, type LookupFunction } from 'node:net';

let isOpen = false;

/** Says for this thread whether `basic.enablePrivateNet` is set. */
export function openPrivateNet(isSet: boolean): void {
  isOpen = isSet;
}

/** Throws a `general` error with the reason when a request may not go to the host of the address. */
export async function checkReach({ protocol, hostname }: URL, isOfData: boolean): Promise<void> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isOpen || (!isOfData && isIP(host) === 0)) return;
  const { checkTarget } = await import('./private-net.js');
  await checkTarget(new URL(`${protocol}//${hostname}`), {
    allowPrivate: false,
    ...(!isOfData && { only: 'metadata' }),
  });
}

/** Looks names up for requests: those that may not be reached lead nowhere, as `checkReach` has it. */
export function reachLookup(isOfData: boolean): LookupFunction {
  return (host, { all }, done) => {
    import('./private-net.js')
      .then(({ checkTarget }) =>
        checkTarget(new URL(`http://${host.includes(':') ? `[${host}]` : host}`), {
          allowPrivate: isOpen,
          ...(!isOfData && { only: 'metadata' }),
        }),
      )
      .then(
        (addresses) => {
          const [first] = addresses as readonly [{ address: string; family: number }];
          if (all) done(null, [...addresses]);
          else done(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => done(error, ''),
      );
  };
}

/** Whether the host of a templated address stands before all expressions, so that no value can lead elsewhere. */
export function hasFixedHost(template: string): boolean {
  return /^https?:\/\/[^/?#{}\\\s]+([/?#]|$)/i.test(template);
}
