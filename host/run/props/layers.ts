/**
 * Properties of connectors come in layers: the configuration of the server, keys, a named connection, what a stream or
 * an action gives itself. Higher ones win. A secret goes only where the layer that gives it sends it: whoever overrides
 * the address must give the secrets as well.
 */
import { isDeepStrictEqual } from 'node:util';
import { secretsIn } from '../../base/fields/declared-secrets.js';
import { givenOf, type Spec } from '../../base/fields/field.js';
import { maskWithin } from '../../base/fields/secret-fields.js';
import { propErrors } from './errors.js';

type Props = Readonly<Record<string, unknown>>;

export interface Layer {
  readonly props: Props;
  /** `configuration key k` */
  readonly name: string;
  /**
   * Files and environment of the server may complete each other, whatever lies between. A connection is whole: those
   * who use it choose none of its properties. What users give completes what lies below, which they have chosen.
   */
  readonly by: 'operator' | 'connection' | 'user';
}

/** Lays layers over each other, the lowest first; throws a `config` error when a secret would go to another address. */
export function joinLayers(spec: Spec, layers: readonly Layer[], where: string): Record<string, unknown> {
  const named = layers.map((layer) => ({ ...layer, given: givenOf(spec, layer.props) }));
  const hasAddress = ({ given }: NamedLayer) => addressesOf(spec).some((name) => given.has(name));
  // A connection's address comes with its own secrets, not those of the server's configuration.
  if (named.some((layer) => layer.by === 'connection' && hasAddress(layer))) {
    for (const { by, given } of named) {
      if (by !== 'operator') continue;
      for (const [name, value] of given) if (holdsSecret(spec, name, value)) given.delete(name);
    }
  }
  const whole = merged(named);
  for (const [name, value] of whole) if (holdsSecret(spec, name, value)) checkSecret(spec, name, named, whole, where);
  return Object.fromEntries(whole);
}

interface NamedLayer extends Layer {
  /** Given properties by declared name. */
  readonly given: Map<string, unknown>;
}

function checkSecret(
  spec: Spec,
  name: string,
  layers: readonly NamedLayer[],
  whole: ReadonlyMap<string, unknown>,
  where: string,
): void {
  const givers = layers.filter(({ given }) => isDeepStrictEqual(given.get(name), whole.get(name)));
  const moved = givers.map((giver) => {
    const meant = meantBy(giver, layers);
    return addressesOf(spec).find((address) => {
      const usual = spec[address]?.declared.default;
      return !isDeepStrictEqual(meant.get(address) ?? usual, whole.get(address) ?? usual);
    });
  });
  const [address] = moved;
  if (moved.includes(undefined) || address === undefined) return;
  const other = maskWithin(String(whole.get(address) ?? spec[address]?.declared.default));
  const reason = `is given by ${givers[0]?.name} for another ${address} and is not sent to ${other}`;
  throw propErrors.givenForOther(where, name, reason, address);
}

/** The properties that a layer gives its secrets for. */
function meantBy(giver: NamedLayer, layers: readonly NamedLayer[]): Map<string, unknown> {
  const at = layers.indexOf(giver);
  const isChosen = (layer: NamedLayer, i: number) => {
    if (i === at) return true;
    if (i > at) return layer.by === 'connection' && giver.given.has('connectionSelector');
    return layer.by === 'operator' || giver.by === 'user';
  };
  return merged(layers.filter(isChosen));
}

function merged(layers: readonly NamedLayer[]): Map<string, unknown> {
  return new Map(layers.flatMap(({ given }) => [...given]));
}

function addressesOf(spec: Spec): string[] {
  return Object.keys(spec).filter((name) => spec[name]?.declared.isAddress === true);
}

function holdsSecret(spec: Spec, name: string, value: unknown): boolean {
  const declared = spec[name]?.declared;
  if (declared === undefined || declared.isAddress || value === null || value === undefined) return false;
  return declared.isSecret === true ? value !== '' : secretsIn(spec, { [name]: value }).length > 0;
}
