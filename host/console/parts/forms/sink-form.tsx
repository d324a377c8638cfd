/** A sink for the results of a rule: its type, and the properties that the type has. */
import { useState } from 'preact/hooks';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';
import type { Word } from '../../state/words.js';
import { Choice } from './making.js';
import { type Described, propertiesOf, propsOf, spoken, type Typed } from './spec.js';
import { SpecForm } from './spec-form.js';

export interface Sink {
  readonly type: string;
  readonly typed: Typed;
  /** The action as rules have it; throws where a field can't be read. */
  readonly action: () => Record<string, unknown>;
}

interface SinkFormProps {
  /** What the sink is for. */
  readonly word?: Word;
  readonly onChange: (sink: Sink) => void;
}

export function SinkForm({ word = 'sink', onChange }: SinkFormProps) {
  const [type, setType] = useState('log');
  const [typed, setTyped] = useState<Typed>({});
  const { value: sinks } = usePolled(() => ask('GET /metadata/sinks'), 0, []);
  const { value: form } = usePolled(
    () => ask('GET /metadata/sinks/{name}', { path: { name: type } }).then((answer) => ({ type, answer })),
    0,
    [type],
  );
  const specs = form?.type === type ? propertiesOf(form.answer) : [];
  const change = (nextType: string, next: Typed) => {
    setType(nextType);
    setTyped(next);
    onChange({ type: nextType, typed: next, action: () => ({ [nextType]: propsOf(specs, next) }) });
  };
  const known = (sinks ?? []) as unknown as readonly Described[];
  const about = known.find(({ name }) => name === type)?.about?.description;
  return (
    <>
      <Choice
        label={t(word)}
        choices={known.map(({ name }) => name)}
        value={type}
        onChoice={(chosen) => change(chosen, {})}
        hint={spoken(about)}
      />
      <SpecForm specs={specs} typed={typed} onChange={(next) => change(type, next)} />
    </>
  );
}
