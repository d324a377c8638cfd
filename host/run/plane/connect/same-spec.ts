/** Whether a stream or sink is what it was, but for some of its properties. */

interface PropsSpec {
  readonly props: Readonly<Record<string, unknown>>;
}

export function isSameBut<T extends PropsSpec>(names: readonly string[], one: T, other: T): boolean {
  const text = (spec: T) => {
    const props = Object.entries(spec.props).filter(([name]) => !names.includes(name));
    return JSON.stringify({ ...spec, secrets: undefined, props: props.sort(([a], [b]) => (a < b ? -1 : 1)) });
  };
  return names.length > 0 && text(one) === text(other);
}
