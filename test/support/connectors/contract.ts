/**
 * What every connector must do, whatever it connects to. A connector's test calls these with its own set-up; they are
 * reached as a user does: by type and properties.
 */
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { describe } from '../../../host/base/fields/field.js';
import { askedPart, loadConnector } from '../../../host/connectors/index.js';
import { FakeKernel } from '../engine/fake-kernel.js';
import { openPlane, passRule } from '../engine/plane.js';

type Props = Record<string, unknown>;

export interface SourceContract {
  type: string;
  dataSource: string;
  props: Props;
  /** Properties that must be refused, and how. */
  refused: [Props, RegExp][];
}

export interface SinkContract {
  type: string;
  props: Props;
  refused: [Props, RegExp][];
}

/** Adds the tests of a source. */
export function sourceContract(test: Test, contract: () => SourceContract, type: string): void {
  test(`${type} source: declares every property with a text`, async () => {
    const { source } = await loadConnector('source', type);
    const mute = describe(source!.props).filter((info) => info.doc === '' && !mayBeMute.has(info.name));
    assert.equal(
      mute.map((info) => info.name),
      [],
    );
  });

  test(`${type} source: names the property it refuses`, async () => {
    const { source } = await loadConnector('source', type);
    for (const [props, reason] of contract().refused) assert.throws(() => source!.check(props), refusal(reason));
  });

  test(`${type} source: starts, stops, and starts again without leaving anything`, async () => {
    const { dataSource, props } = contract();
    let kernel: FakeKernel | undefined;
    const { plane, report } = await openPlane((calls) => {
      kernel = new FakeKernel(calls);
      return kernel;
    });
    for (let i = 0; i < 3; i++) {
      const rule = passRule({ type, dataSource, props }, [{ type: 'nop', props: {} }]);
      await plane.start(rule);
      await report(rule.run, 'started');
      await plane.stop(rule.run);
    }
    assert.is(kernel?.memory().inUse, 0);
    await plane.close();
  });
}

/** Adds the tests of a sink. */
export function sinkContract(test: Test, contract: () => SinkContract, type: string): void {
  test(`${type} sink: declares every property with a text`, async () => {
    const { sink } = await loadConnector('sink', type);
    const mute = describe(sink!.props).filter((info) => info.doc === '' && !mayBeMute.has(info.name));
    assert.equal(
      mute.map((info) => info.name),
      [],
    );
  });

  test(`${type} sink: names the property it refuses`, async () => {
    const { sink } = await loadConnector('sink', type);
    for (const [props, reason] of contract().refused) assert.throws(() => sink!.check(props), refusal(reason));
  });

  test(`${type} sink: gives credit for everything it takes`, async () => {
    const { props } = contract();
    const { plane, report } = await openPlane();
    const data = Array.from({ length: 50 }, (_, i) => ({ id: i, text: 'x'.repeat(i) }));
    const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [{ type, props }]);
    await plane.start(rule);
    const { metrics } = await report(rule.run, 'ended');
    assert.is(metrics.sinkRecordsEnqueuedTotal, 50);
    assert.is(metrics.sinkRecordsOutTotal, 50);
    assert.is(metrics.sinkRecordsFailedTotal, 0);
    assert.is(metrics.bufferLength, 0);
    await plane.close();
  });
}

/** Adds the tests of a lookup table that is asked. */
export function lookupContract(test: Test, refused: readonly [Props, RegExp][], type: string): void {
  test(`${type} lookup: declares every property with a text`, () => {
    const mute = describe(askedPart(type).props).filter((info) => info.doc === '');
    assert.equal(
      mute.map((info) => info.name),
      [],
    );
  });

  test(`${type} lookup: names the property it refuses`, () => {
    for (const [props, reason] of refused) assert.throws(() => askedPart(type).check(props), refusal(reason));
  });
}

/** Properties that only say that they are not supported. */
const mayBeMute = new Set(['merger', 'decrypt', 'rollingInterval']);

function refusal(reason: RegExp) {
  return (error: unknown) => error instanceof HaumeaError && error.kind === 'config' && reason.test(error.message);
}
