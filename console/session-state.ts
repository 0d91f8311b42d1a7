import { computed, signal } from '@preact/signals';
import type { Session } from './contract.ts';

/** Who is signed in: null until that is known, undefined when nobody is. */
export const session = signal<Session | undefined | null>(null);

export const mayChange = computed(() => session.value?.role === 'admin');

export const viewersReason = 'Only admins can change this. You are signed in as a viewer.';
