// SPDX-License-Identifier: Apache-2.0

// Argo CD's webpack configuration makes this file the module 'react-form'; the package itself is react-form-2.
export * from 'react-form-2';
