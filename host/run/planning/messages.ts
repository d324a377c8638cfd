/** Messages between the control plane and the thread that plans large rules; plain data. */
import type { RulePlan, Tap } from '../../../kernels/plan/ir.js';
import type { ErrorKind } from '../../base/errors.js';
import type { Brought } from '../../functions/registry.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { StreamDefinition } from '../../sql/source-def.js';

/** Settings that the thread gets at its start. */
export interface PlanningSettings {
  readonly maxValueBytes: number | undefined;
}

/** A name with what it stands for; undefined when nothing has it. */
type Known<T> = readonly (readonly [name: string, T | undefined])[];

/** The plan, the plan with what shows the rows between its operators, or its explanation. */
export type Wanted = 'plan' | 'traced' | 'text';

export type ToPlanning =
  | { readonly kind: 'plan'; readonly id: number; readonly rule: RuleDefinition; readonly wants: Wanted }
  | {
      readonly kind: 'known';
      readonly id: number;
      readonly sources: Known<StreamDefinition>;
      readonly brought: Known<Brought>;
      /** All known names, for suggestions. */
      readonly sourceNames: readonly string[];
      readonly broughtNames: readonly string[];
    }
  /** Answers that nobody wants the plan any more. */
  | { readonly kind: 'unknown'; readonly id: number };

export type FromPlanning =
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly sources: readonly string[];
      readonly brought: readonly string[];
    }
  | { readonly kind: 'planned'; readonly id: number; readonly plan: RulePlan; readonly taps?: Tap[] }
  | { readonly kind: 'explained'; readonly id: number; readonly text: string }
  /** `error`: undefined for what is no HaumeaError. */
  | {
      readonly kind: 'refused';
      readonly id: number;
      readonly error: ErrorKind | undefined;
      readonly message: string;
    };
