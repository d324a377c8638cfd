/** A form whose properties are those of a chosen type: sources, connections. */

import { useState } from 'preact/hooks';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { reasonOf } from '../../state/server.js';
import { Changing } from '../changing.js';
import { Choice, Making, TextField } from './making.js';
import { type Described, propertiesOf, propsOf, spoken, type Typed } from './spec.js';
import { SpecForm } from './spec-form.js';

interface TypedFormProps {
  readonly types: () => Promise<unknown>;
  readonly form: (type: string) => Promise<unknown>;
  readonly make: (id: string, type: string, props: Record<string, unknown>) => Promise<unknown>;
  /** Asks whether the other side answers. */
  readonly check?: (type: string, props: Record<string, unknown>) => Promise<unknown>;
  readonly done: () => void;
}

export function TypedForm({ types, form, make, check, done }: TypedFormProps) {
  const [id, setId] = useState('');
  const [chosen, setChosen] = useState('');
  const [typed, setTyped] = useState<Typed>({});
  const [found, setFound] = useState('');
  const known = (usePolled(types, 0, []).value ?? []) as readonly Described[];
  const type = chosen || (known[0]?.name ?? '');
  const question = async () => (type === '' ? undefined : { type, answer: await form(type) });
  const { value } = usePolled(question, 0, [type]);
  const specs = value?.type === type ? propertiesOf(value.answer) : [];
  const look = async () => {
    setFound(t('loading'));
    try {
      await check?.(type, propsOf(specs, typed));
      setFound(t('answers'));
    } catch (error) {
      setFound(reasonOf(error));
    }
  };
  const choose = (next: string) => {
    setChosen(next);
    setTyped({});
  };
  const button = check && (
    <Changing>
      <button type="button" onClick={() => void look()}>
        {t('checkIt')}
      </button>
    </Changing>
  );
  return (
    <Making make={() => make(id, type, propsOf(specs, typed))} done={done} beside={button}>
      <div class="fields">
        <TextField label={t('name')} text={id} onText={setId} />
        <Choice
          label={t('type')}
          choices={known.map(({ name }) => name)}
          value={type}
          onChoice={choose}
          hint={spoken(known.find(({ name }) => name === type)?.about?.description)}
        />
      </div>
      <SpecForm specs={specs} typed={typed} onChange={setTyped} />
      <div role="status">{found !== '' && <p class="notice">{found}</p>}</div>
    </Making>
  );
}
