import type { StoreContents } from '../storage/storage.ts';

/** Properties of a valid backup, recorded when the backup is created and checked when it is verified. */
export interface BackupFacts extends Omit<StoreContents, 'bytes'> {
  /** Start of the backup, in Unix ms. The backup contains every change acknowledged before this time. */
  readonly createdAt: number;
  readonly madeBy: string;
  /** Size of the limit state; 0 if the store had none. */
  readonly limitBytes: number;
  readonly bytes: number;
}

export type VerifiedFile =
  | ({ readonly kind: 'backup' } & BackupFacts)
  | ({ readonly kind: 'store' } & StoreContents);

export type BackupFault = 'missing' | 'damaged' | 'foreign' | 'exists' | 'space' | 'failed';

/** A backup cannot be made, verified or restored; `message` gives the reason and the remedy. */
export class BackupError extends Error {
  readonly fault: BackupFault;
  constructor(fault: BackupFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

export interface VerifyOptions {
  /** Aborts the backup and removes its file. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes written or read so far, and the total if it is known in advance. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface CreateOptions extends VerifyOptions {
  readonly replace: boolean;
  readonly now: number;
}

export interface NamedFile {
  readonly name: string;
  readonly bytes: number;
  /** Timestamp in the name, in Unix ms, precise to the second. */
  readonly createdAt: number;
  readonly label: string | null;
  readonly verified: VerificationResult | null;
}

export interface VerificationResult {
  readonly at: number;
  readonly isSound: boolean;
  readonly message: string | null;
  readonly counts: Readonly<Record<string, number>> | null;
}
