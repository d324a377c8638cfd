/** Fields of the properties of a connector: what must be given and what makes its connection first. */
import { useState } from 'preact/hooks';
import { t } from '../../state/language.js';
import { type PropertySpec, spoken, type Typed, textOf } from './spec.js';

interface SpecFormProps {
  readonly specs: readonly PropertySpec[];
  readonly typed: Typed;
  readonly onChange: (typed: Typed) => void;
}

export function SpecForm({ specs, typed, onChange }: SpecFormProps) {
  const [isAll, setAll] = useState(false);
  const isFirst = ({ name, optional, connection_related }: PropertySpec) =>
    !optional || connection_related === true || (typed[name] ?? '') !== '';
  // The topic of a sink is optional where a stream names it: a few are shown in any case.
  const first = specs.filter((spec, i) => isFirst(spec) || i < 2 || /^(topic|path|url|data|sql)$/i.test(spec.name));
  const shown = isAll ? specs : first;
  const field = (spec: PropertySpec) => (
    <Field
      key={spec.name}
      spec={spec}
      text={typed[spec.name] ?? ''}
      onText={(text) => onChange({ ...typed, [spec.name]: text })}
    />
  );
  return (
    <>
      <div class="fields">{shown.map(field)}</div>
      {first.length < specs.length && (
        <button type="button" class="plain" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? t('fewer') : t('allProperties', { n: specs.length })}
        </button>
      )}
    </>
  );
}

interface FieldProps {
  readonly spec: PropertySpec;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function Field({ spec, text, onText }: FieldProps) {
  const { name, control, type, values, optional, label, hint } = spec;
  const id = `property-${name}`;
  const usual = textOf(spec.default);
  const common = { id, required: !optional && usual === '', 'aria-describedby': `${id}-hint` };
  const choices = type === 'bool' ? ['true', 'false'] : control === 'select' ? values?.map(textOf) : undefined;
  return (
    <div class="field">
      <label for={id}>
        {spoken(label) || name} {!optional && <b aria-hidden="true">*</b>}
      </label>
      {choices !== undefined ? (
        <select {...common} value={text} onChange={(event) => onText(event.currentTarget.value)}>
          <option value="">{usual === '' ? '–' : t('usually', { value: usual })}</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <Input {...common} isSecret={control === 'password'} usual={usual} text={text} onText={onText} />
      )}
      <span class="hint faint" id={`${id}-hint`}>
        {spoken(hint)}
      </span>
    </div>
  );
}

interface InputProps {
  readonly id: string;
  readonly required: boolean;
  readonly 'aria-describedby': string;
  readonly isSecret: boolean;
  readonly usual: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function Input({ isSecret, usual, text, onText, ...rest }: InputProps) {
  const onInput = (event: { currentTarget: HTMLInputElement }) => onText(event.currentTarget.value);
  const common = { ...rest, autocomplete: 'off', placeholder: usual, value: text, onInput } as const;
  return isSecret ? <input type="password" {...common} /> : <input type="text" {...common} />;
}
