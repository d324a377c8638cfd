/** Kinds of IP addresses: which ones are reachable from everywhere, and what the others are for. */
import { isIPv4, isIPv6 } from 'node:net';

/** What an address that is not public is; `undefined` stands for a public one. */
export type AddressKind =
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'metadata'
  | 'shared'
  | 'multicast'
  | 'unspecified'
  | 'reserved';

type Block = readonly [address: string, bits: number, kind: AddressKind];

/** The first block that holds an address decides, so single addresses stand before their networks. */
const blocks4: readonly Block[] = [
  // Addresses at which clouds hand out credentials to whoever asks from the machine.
  ['169.254.169.254', 32, 'metadata'],
  ['169.254.170.2', 32, 'metadata'],
  ['100.100.100.200', 32, 'metadata'],
  ['192.0.0.192', 32, 'metadata'],
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'shared'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'reserved'],
  ['192.88.99.0', 24, 'reserved'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'reserved'],
  ['198.51.100.0', 24, 'reserved'],
  ['203.0.113.0', 24, 'reserved'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
];

const blocks6: readonly Block[] = [
  ['fd00:ec2::254', 128, 'metadata'],
  ['::1', 128, 'loopback'],
  ['::', 128, 'unspecified'],
  ['fc00::', 7, 'private'],
  ['fec0::', 10, 'private'],
  ['fe80::', 10, 'link-local'],
  ['ff00::', 8, 'multicast'],
  ['100::', 64, 'reserved'],
  ['2001::', 23, 'reserved'],
  ['2001:db8::', 32, 'reserved'],
  ['3fff::', 20, 'reserved'],
  ['5f00::', 16, 'reserved'],
];

/** Prefixes behind which an IPv4 address stands, with the place of its first byte. */
const carriers: readonly (readonly [prefix: string, bits: number, at: number])[] = [
  ['::ffff:0:0', 96, 12],
  ['::ffff:0:0:0', 96, 12],
  ['::', 96, 12],
  ['64:ff9b::', 96, 12],
  ['64:ff9b:1::', 48, 12],
  ['2002::', 16, 2],
];

interface Network {
  readonly bytes: Uint8Array;
  readonly bits: number;
  readonly kind: AddressKind;
}

const networks4 = blocks4.map(toNetwork);
const networks6 = blocks6.map(toNetwork);
const carrierNetworks = carriers.map(([prefix, bits, at]) => ({ bytes: parseAddress(prefix) as Uint8Array, bits, at }));

/** Returns the kind of an address, `undefined` for a public one; a text that is no address counts as reserved. */
export function addressKind(text: string): AddressKind | undefined {
  const bytes = parseAddress(text);
  if (bytes === undefined) return 'reserved';
  return bytes.length === 4 ? kindIn(networks4, bytes) : kindOf6(bytes);
}

/** Reads an IPv4 address in dotted form into 4 bytes or an IPv6 address into 16; a zone such as %eth0 is dropped. */
export function parseAddress(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number);
  if (!isIPv6(text)) return undefined;
  let address = text.split('%', 1)[0] as string;
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  if (dotted !== null) {
    const [a, b, c, d] = (dotted[2] as string).split('.').map(Number) as [number, number, number, number];
    address = `${dotted[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head = '', tail] = address.split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const groups = [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function kindOf6(bytes: Uint8Array): AddressKind | undefined {
  const own = kindIn(networks6, bytes);
  if (own !== undefined) return own;
  const carrier = carrierNetworks.find(({ bytes: prefix, bits }) => startsWith(bytes, prefix, bits));
  return carrier === undefined ? undefined : kindIn(networks4, bytes.subarray(carrier.at, carrier.at + 4));
}

function kindIn(networks: readonly Network[], bytes: Uint8Array): AddressKind | undefined {
  return networks.find((network) => startsWith(bytes, network.bytes, network.bits))?.kind;
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array, bits: number): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (bytes[i] !== prefix[i]) return false;
  const rest = bits & 7;
  return rest === 0 || (((bytes[whole] as number) ^ (prefix[whole] as number)) & (0xff << (8 - rest)) & 0xff) === 0;
}

function toNetwork([address, bits, kind]: Block): Network {
  return { bytes: parseAddress(address) as Uint8Array, bits, kind };
}
