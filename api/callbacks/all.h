#pragma once

// Every callback: one line each.
#include <nyala/api/callbacks/backup_and_restore.h>
#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/callbacks/base/history.h>
#include <nyala/api/callbacks/base/progbar_logger.h>
#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/api/callbacks/csv_logger.h>
#include <nyala/api/callbacks/early_stopping.h>
#include <nyala/api/callbacks/lambda_callback.h>
#include <nyala/api/callbacks/learning_rate_scheduler.h>
#include <nyala/api/callbacks/model_checkpoint.h>
#include <nyala/api/callbacks/monitor_callback.h>
#include <nyala/api/callbacks/preemption_checkpoint_handler.h>
#include <nyala/api/callbacks/reduce_lr_on_plateau.h>
#include <nyala/api/callbacks/sidecar_evaluator.h>
#include <nyala/api/callbacks/terminate_on_nan.h>
#include <nyala/api/callbacks/training_backup.h>
