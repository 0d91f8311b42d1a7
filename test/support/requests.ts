import { type Operation, type OperationId, operations } from '../../src/contract/operations.ts';
import type { CallOptions } from './call.ts';
import { newPet } from './pets.ts';

/** A request of an operation that is right but for what a test changes. */
export interface Sample {
  readonly operationId: OperationId;
  readonly method: string;
  readonly target: string;
  readonly options: CallOptions;
}

/** One request for every operation of the contract; a new operation is tested with the others by itself. */
export const samples: readonly Sample[] = Object.values<Operation>(operations).map(
  ({ operationId, method, path, body }) => ({
    operationId,
    method,
    target: path.replace('{petId}', '1'),
    options: body === undefined ? {} : { body: newPet() },
  }),
);
